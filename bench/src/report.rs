//! The report as JSON; [`super::print`] prints it as text.

use serde::{Deserialize, Serialize};

use super::Plan;
use super::latency::Measure;

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    pub(crate) processors: usize,
    /// Whether this program was built with optimisations; otherwise the figures are not valid.
    pub(crate) optimised: bool,
    pub(crate) rounds: usize,
    /// Duration of each measurement, in seconds.
    pub(crate) seconds_per_turn: f64,
    pub(crate) comparisons: Vec<Comparison>,
    /// The figures of other tools.
    pub(crate) peers: Vec<PeerFigures>,
    /// The peak memory of each role's process; empty if the system does not report it.
    pub(crate) memory: Vec<Memory>,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Comparison {
    pub(crate) title: String,
    pub(crate) load: String,
    /// The counted unit, in the plural.
    pub(crate) unit: &'static str,
    pub(crate) base: &'static str,
    pub(crate) beside: Option<&'static str>,
    pub(crate) system: &'static str,
    pub(crate) rounds: Vec<Round>,
    pub(crate) verdicts: Vec<Verdict>,
    /// The processor time of a call, by role; empty if the roles are not this program's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) cpu: Vec<CpuPerCall>,
    pub(crate) notes: Vec<String>,
}

/// One measurement of each side.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Round {
    /// The base, such as a baseline; absent when it cannot be reached.
    pub(crate) base: Option<Measure>,
    pub(crate) beside: Option<Measure>,
    pub(crate) system: Measure,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Verdict {
    pub(crate) figure: &'static str,
    pub(crate) value: f64,
    pub(crate) threshold: Threshold,
    pub(crate) kept: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Threshold {
    AtLeast(f64),
    AtMost(f64),
}

/// The processor time of a call in a role.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CpuPerCall {
    pub(crate) role: &'static str,
    pub(crate) micros: f64,
}

/// The figures of one operation of one tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PeerFigures {
    pub(crate) peer: String,
    /// The version of the tool.
    pub(crate) version: String,
    pub(crate) operation: String,
    /// Concurrent callers.
    pub(crate) concurrency: usize,
    pub(crate) per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) note: String,
}

/// The physical memory of a role's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Memory {
    pub(crate) role: &'static str,
    pub(crate) peak_bytes: u64,
}

/// The current and peak physical memory of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resident {
    pub(crate) now_bytes: u64,
    pub(crate) peak_bytes: u64,
}

impl Report {
    pub(crate) fn begin(plan: &Plan) -> Self {
        Self {
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            optimised: !cfg!(debug_assertions),
            rounds: plan.rounds,
            seconds_per_turn: plan.duration.as_secs_f64(),
            comparisons: Vec::new(),
            peers: Vec::new(),
            memory: Vec::new(),
        }
    }

    pub(crate) fn kept(&self) -> bool {
        let mut verdicts = self.comparisons.iter().flat_map(|one| &one.verdicts);
        verdicts.all(|verdict| verdict.kept)
    }
}

impl Round {
    pub(crate) fn of(base: Option<Measure>, system: Measure) -> Self {
        Self { base, beside: None, system }
    }
}

impl Verdict {
    pub(crate) fn of(figure: &'static str, value: f64, threshold: Threshold) -> Self {
        let kept = match threshold {
            Threshold::AtLeast(bound) => value >= bound,
            Threshold::AtMost(bound) => value <= bound,
        };
        Self { figure, value, threshold, kept }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_inclusive() {
        let check = |value, threshold, kept| {
            let verdict = Verdict::of("x", value, threshold);
            assert_eq!(verdict.kept, kept, "{value} {threshold:?}");
        };
        check(0.65, Threshold::AtLeast(0.65), true);
        check(0.64, Threshold::AtLeast(0.65), false);
        check(3.0, Threshold::AtMost(3.0), true);
        check(3.01, Threshold::AtMost(3.0), false);
        check(f64::NAN, Threshold::AtMost(3.0), false);
    }
}
