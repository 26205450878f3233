//! Two sides that take turns.

use super::latency::Measure;
use super::report::Round;

/// Lets both sides take turns, the base first.
pub(super) async fn alternate(
    rounds: usize,
    mut base: impl AsyncFnMut() -> anyhow::Result<Measure>,
    mut system: impl AsyncFnMut() -> anyhow::Result<Measure>,
) -> anyhow::Result<Vec<Round>> {
    let mut turns = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let base = Some(base().await?);
        turns.push(Round {
            base,
            beside: None,
            system: system().await?,
        });
    }
    Ok(turns)
}

/// One side alone, where there is no floor.
pub(super) async fn alone(
    rounds: usize,
    mut system: impl AsyncFnMut() -> anyhow::Result<Measure>,
) -> anyhow::Result<Vec<Round>> {
    let mut turns = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        turns.push(Round {
            base: None,
            beside: None,
            system: system().await?,
        });
    }
    Ok(turns)
}

/// The median of each round's ratio of `figure`, system over base; `None` without a base.
pub(super) fn median_ratio(rounds: &[Round], figure: impl Fn(&Measure) -> f64) -> Option<f64> {
    let ratios = rounds
        .iter()
        .filter_map(|round| Some(figure(&round.system) / figure(round.base.as_ref()?)));
    median(ratios.collect())
}

/// The middle one, or the mean of the two in the middle.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    values
        .get(middle.checked_sub(1)?)
        .map(|lower| f64::midpoint(*lower, upper))
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
