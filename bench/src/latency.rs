//! Latency histograms and rates.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// The longest recorded time.
const LONGEST: Duration = Duration::from_mins(2);
/// Significant decimal digits.
const DIGITS: u8 = 3;

/// A latency histogram.
#[derive(Debug, Clone)]
pub struct Latencies(Histogram<u64>);

/// A summary of a histogram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Latency {
    /// The number of calls.
    pub count: u64,
    /// The median, in milliseconds.
    pub p50_ms: f64,
    /// The 99th percentile, in milliseconds.
    pub p99_ms: f64,
    /// The 99.9th percentile, in milliseconds.
    pub p999_ms: f64,
    /// The maximum, in milliseconds.
    pub max_ms: f64,
}

/// One measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Measure {
    /// Calls per second.
    pub per_second: f64,
    /// Their latency.
    pub latency: Latency,
}

impl Latencies {
    /// An empty histogram.
    ///
    /// # Errors
    /// Never: the bounds are valid constants.
    pub fn new() -> anyhow::Result<Self> {
        let longest = u64::try_from(LONGEST.as_nanos())?;
        Ok(Self(Histogram::new_with_bounds(1, longest, DIGITS)?))
    }

    /// Adds the time of a call; times over two minutes count as two minutes.
    pub fn add(&mut self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.0.saturating_record(nanos);
    }

    /// Adds the histogram of another worker.
    ///
    /// # Errors
    /// Never: all histograms have the same bounds.
    pub fn join(&mut self, other: &Self) -> anyhow::Result<()> {
        Ok(self.0.add(&other.0)?)
    }

    /// The summary.
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

    /// The measurement of calls within `duration`.
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

/// Converts a count; exact up to 2^53.
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
    fn quantiles_are_precise() {
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
