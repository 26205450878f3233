//! Latency histograms and rates.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

const LONGEST: Duration = Duration::from_mins(2);
const DIGITS: u8 = 3;

/// Latencies, and their sum.
#[derive(Clone)]
pub(crate) struct Latencies {
    histogram: Histogram<u64>,
    total: Duration,
}

/// A summary of a histogram: the number of calls, and percentiles of their times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Latency {
    pub(crate) count: u64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) p999_ms: f64,
    pub(crate) max_ms: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Measure {
    pub(crate) per_second: f64,
    pub(crate) latency: Latency,
}

impl Latencies {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let longest = u64::try_from(LONGEST.as_nanos())?;
        Ok(Self { histogram: Histogram::new_with_bounds(1, longest, DIGITS)?, total: Duration::ZERO })
    }

    /// Adds the time of a call; times over two minutes count as two minutes.
    pub(crate) fn add(&mut self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.histogram.saturating_record(nanos);
        self.total += took;
    }

    pub(crate) fn join(&mut self, other: &Self) -> anyhow::Result<()> {
        self.total += other.total;
        Ok(self.histogram.add(&other.histogram)?)
    }

    pub(crate) fn summary(&self) -> Latency {
        let at = |quantile| milliseconds(self.histogram.value_at_quantile(quantile));
        Latency {
            count: self.histogram.len(),
            p50_ms: at(0.5),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: milliseconds(self.histogram.max()),
        }
    }

    /// The measurement of calls one after the other.
    pub(crate) fn measure_serial(&self) -> Measure {
        self.measure(self.total)
    }

    /// The measurement of calls within `duration`.
    pub(crate) fn measure(&self, duration: Duration) -> Measure {
        let latency = self.summary();
        Measure { per_second: real(latency.count) / duration.as_secs_f64(), latency }
    }
}

fn milliseconds(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64() * 1_000.0
}

/// Converts a count; exact up to 2^53.
pub(crate) fn real(count: u64) -> f64 {
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
