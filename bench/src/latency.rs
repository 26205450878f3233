//! How long calls took, and how many there were.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// The longest time that is told apart.
const LONGEST: Duration = Duration::from_mins(2);
/// Decimal digits that are told apart.
const DIGITS: u8 = 3;

/// Times of many calls.
#[derive(Debug, Clone)]
pub struct Latencies(Histogram<u64>);

/// What is told of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Latency {
    /// How many calls.
    pub count: u64,
    /// Half took no longer, in milliseconds.
    pub p50_ms: f64,
    /// 99 of 100 took no longer, in milliseconds.
    pub p99_ms: f64,
    /// 999 of 1,000 took no longer, in milliseconds.
    pub p999_ms: f64,
    /// The longest, in milliseconds.
    pub max_ms: f64,
}

/// One side's turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Measure {
    /// How many a second.
    pub per_second: f64,
    /// How long each took.
    pub latency: Latency,
}

impl Latencies {
    /// None yet.
    ///
    /// # Errors
    /// Never: the bounds are constants that the histogram takes.
    pub fn new() -> anyhow::Result<Self> {
        let longest = u64::try_from(LONGEST.as_nanos())?;
        Ok(Self(Histogram::new_with_bounds(1, longest, DIGITS)?))
    }

    /// Adds the time of a call; one over two minutes counts as two minutes.
    pub fn add(&mut self, took: Duration) {
        self.0
            .saturating_record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds those of another worker.
    ///
    /// # Errors
    /// Never: all histograms have the same bounds.
    pub fn join(&mut self, other: &Self) -> anyhow::Result<()> {
        Ok(self.0.add(&other.0)?)
    }

    /// What is told of them.
    #[must_use]
    pub fn summary(&self) -> Latency {
        let at = |quantile| milliseconds(self.0.value_at_quantile(quantile));
        Latency {
            count: self.0.len(),
            p50_ms: at(0.5),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: milliseconds(self.0.max()),
        }
    }

    /// A turn that lasted `duration`.
    #[must_use]
    pub fn measure(&self, duration: Duration) -> Measure {
        let latency = self.summary();
        Measure {
            per_second: real(latency.count) / duration.as_secs_f64(),
            latency,
        }
    }
}

fn milliseconds(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64() * 1_000.0
}

/// A count as a real number; exact up to 2^53.
#[must_use]
pub fn real(count: u64) -> f64 {
    const HIGH: f64 = 4_294_967_296.0;
    let high = u32::try_from(count >> 32).unwrap_or(u32::MAX);
    let low = u32::try_from(count & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    f64::from(high).mul_add(HIGH, f64::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_near_the_truth() {
        let mut latencies = Latencies::new().unwrap();
        for millisecond in 1..=1_000 {
            latencies.add(Duration::from_millis(millisecond));
        }
        latencies.add(Duration::from_hours(1));
        let summary = latencies.summary();
        let check = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
        };
        check(summary.p50_ms, 501.0);
        check(summary.p99_ms, 991.0);
        check(summary.max_ms, 120_000.0);
        check(latencies.measure(Duration::from_secs(2)).per_second, 500.5);
        check(real(u64::MAX), 1.844_674_407_370_955_2e19);
    }
}
