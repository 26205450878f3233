//! What was measured, as machines read it; [`super::print`] shows it to people.

use serde::Serialize;

use super::Plan;
use super::latency::Measure;

/// Everything that one run measured.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Processors of this machine.
    pub processors: usize,
    /// Whether this program was built with optimisations; figures of one that was not say little.
    pub optimised: bool,
    /// Turns of each side.
    pub rounds: usize,
    /// How long each turn was measured, in seconds.
    pub seconds_per_turn: f64,
    /// The comparisons, in the order in which they were made.
    pub comparisons: Vec<Comparison>,
    /// What each role's process held at most, in bytes; empty where it cannot be seen.
    pub memory: Vec<Memory>,
}

/// One figure next to what it is judged by.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// What is measured.
    pub title: String,
    /// The load, in words.
    pub load: String,
    /// What is counted, in the plural.
    pub unit: &'static str,
    /// What the base is.
    pub base: &'static str,
    /// What else it is compared with, in the same turns.
    pub beside: Option<&'static str>,
    /// What is judged by them.
    pub system: &'static str,
    /// The turns.
    pub rounds: Vec<Round>,
    /// What follows from them.
    pub verdicts: Vec<Verdict>,
    /// What else was seen.
    pub notes: Vec<String>,
}

/// One turn of each side.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Round {
    /// The floor, or whatever the system is compared with; absent when it cannot be reached.
    pub base: Option<Measure>,
    /// What else the system is compared with.
    pub beside: Option<Measure>,
    /// The system.
    pub system: Measure,
}

/// A figure and its threshold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// What the figure is.
    pub figure: &'static str,
    /// The figure.
    pub value: f64,
    /// What it must be.
    pub threshold: Threshold,
    /// Whether it is.
    pub kept: bool,
}

/// What a figure must be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
}

/// What a process holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// The role.
    pub role: &'static str,
    /// Most physical memory that it held, in bytes.
    pub peak_bytes: u64,
}

/// What a process holds, now and at most so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resident {
    /// Physical memory that it holds, in bytes.
    pub now_bytes: u64,
    /// Most physical memory that it held, in bytes.
    pub peak_bytes: u64,
}

impl Report {
    /// Nothing yet.
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

    /// Whether every figure keeps its threshold.
    #[must_use]
    pub fn kept(&self) -> bool {
        self.comparisons
            .iter()
            .flat_map(|comparison| &comparison.verdicts)
            .all(|v| v.kept)
    }
}

impl Verdict {
    /// Judges a figure.
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
    fn thresholds_hold_at_their_edge() {
        let check = |value, threshold, kept| {
            assert_eq!(
                Verdict::of("x", value, threshold).kept,
                kept,
                "{value} {threshold:?}"
            );
        };
        check(0.65, Threshold::AtLeast(0.65), true);
        check(0.64, Threshold::AtLeast(0.65), false);
        check(3.0, Threshold::AtMost(3.0), true);
        check(3.01, Threshold::AtMost(3.0), false);
        check(f64::NAN, Threshold::AtMost(3.0), false);
    }
}
