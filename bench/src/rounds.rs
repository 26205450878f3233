//! Alternating measurements of two sides.

use super::latency::Measure;
use super::report::{Round, Threshold, Verdict};

/// Alternates both sides, the base first.
pub(super) async fn alternate(
    rounds: usize,
    mut base: impl AsyncFnMut() -> anyhow::Result<Measure>,
    system: impl AsyncFnMut() -> anyhow::Result<Measure>,
) -> anyhow::Result<Vec<Round>> {
    alternate_bases(rounds, async || Ok((Some(base().await?), None)), system).await
}

/// Measures the system only, without a baseline.
pub(super) async fn alone(
    rounds: usize,
    system: impl AsyncFnMut() -> anyhow::Result<Measure>,
) -> anyhow::Result<Vec<Round>> {
    alternate_bases(rounds, async || Ok((None, None)), system).await
}

/// Alternates the base and a second base with the system.
pub(super) async fn alternate_bases(
    rounds: usize,
    mut bases: impl AsyncFnMut() -> anyhow::Result<(Option<Measure>, Option<Measure>)>,
    mut system: impl AsyncFnMut() -> anyhow::Result<Measure>,
) -> anyhow::Result<Vec<Round>> {
    let mut measured = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let (base, beside) = bases().await?;
        measured.push(Round { base, beside, system: system().await? });
    }
    Ok(measured)
}

/// The median of each round's ratio of `figure`, system over base; `None` without a base.
pub(super) fn median_ratio(rounds: &[Round], figure: impl Fn(&Measure) -> f64) -> Option<f64> {
    let ratios = rounds.iter().filter_map(|round| Some(figure(&round.system) / figure(round.base.as_ref()?)));
    median(ratios.collect())
}

/// The verdict on the ratio of median latencies; empty without a base.
pub(super) fn p50_verdict(rounds: &[Round], figure: &'static str, threshold: Threshold) -> Vec<Verdict> {
    let ratio = median_ratio(rounds, |measure| measure.latency.p50_ms);
    let verdict = ratio.map(|ratio| Verdict::of(figure, ratio, threshold));
    verdict.into_iter().collect()
}

/// The median; for an even number, the mean of the two middle values.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    values.get(middle.checked_sub(1)?).map(|lower| f64::midpoint(*lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let check = |values: &[f64], expected| assert_eq!(median(values.to_vec()), expected);
        check(&[], None);
        check(&[2.0], Some(2.0));
        check(&[3.0, 1.0], Some(2.0));
        check(&[9.0, 1.0, 2.0], Some(2.0));
    }
}
