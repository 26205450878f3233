//! The report as JSON; [`super::print`] prints it as text.

use serde::Serialize;

use super::Plan;
use super::latency::Measure;

/// The report of one run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The number of processors.
    pub processors: usize,
    /// Whether this program was built with optimisations; otherwise the figures are not valid.
    pub optimised: bool,
    /// Rounds per comparison.
    pub rounds: usize,
    /// Duration of each measurement, in seconds.
    pub seconds_per_turn: f64,
    /// The comparisons, in order.
    pub comparisons: Vec<Comparison>,
    /// The peak memory of each role's process; empty if the system does not report it.
    pub memory: Vec<Memory>,
}

/// A comparison of the system with a base.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Comparison {
    /// The title.
    pub title: String,
    /// A description of the load.
    pub load: String,
    /// The counted unit, in the plural.
    pub unit: &'static str,
    /// The name of the base.
    pub base: &'static str,
    /// The name of a second base.
    pub beside: Option<&'static str>,
    /// The name of the system.
    pub system: &'static str,
    /// The rounds.
    pub rounds: Vec<Round>,
    /// The figures and their thresholds.
    pub verdicts: Vec<Verdict>,
    /// Further observations.
    pub notes: Vec<String>,
}

/// One measurement of each side.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Round {
    /// The base, such as a baseline; absent when it cannot be reached.
    pub base: Option<Measure>,
    /// The second base.
    pub beside: Option<Measure>,
    /// The system.
    pub system: Measure,
}

/// A figure and its threshold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The name of the figure.
    pub figure: &'static str,
    /// Its value.
    pub value: f64,
    /// Its threshold.
    pub threshold: Threshold,
    /// Whether the value meets the threshold.
    pub kept: bool,
}

/// A threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// The minimum.
    AtLeast(f64),
    /// The maximum.
    AtMost(f64),
}

/// The memory of a role's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// The role.
    pub role: &'static str,
    /// Peak physical memory, in bytes.
    pub peak_bytes: u64,
}

/// The current and peak memory of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resident {
    /// Current physical memory, in bytes.
    pub now_bytes: u64,
    /// Peak physical memory, in bytes.
    pub peak_bytes: u64,
}

impl Report {
    /// An empty report.
    #[must_use]
    pub fn begin(plan: &Plan) -> Self {
        Self {
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            optimised: !cfg!(debug_assertions),
            rounds: plan.rounds,
            seconds_per_turn: plan.duration.as_secs_f64(),
            comparisons: Vec::new(),
            memory: Vec::new(),
        }
    }

    /// Whether every figure meets its threshold.
    #[must_use]
    pub fn kept(&self) -> bool {
        let mut verdicts = self.comparisons.iter().flat_map(|one| &one.verdicts);
        verdicts.all(|verdict| verdict.kept)
    }
}

impl Round {
    pub(crate) fn of(base: Option<Measure>, system: Measure) -> Self {
        Self {
            base,
            beside: None,
            system,
        }
    }
}

impl Verdict {
    /// Compares a figure with its threshold.
    #[must_use]
    pub fn of(figure: &'static str, value: f64, threshold: Threshold) -> Self {
        let kept = match threshold {
            Threshold::AtLeast(bound) => value >= bound,
            Threshold::AtMost(bound) => value <= bound,
        };
        Self {
            figure,
            value,
            threshold,
            kept,
        }
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
