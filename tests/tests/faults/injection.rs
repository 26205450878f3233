//! Fault injection: how often and when faults are injected.

use std::ops::Range;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::fixture::{Crowd, Fixture};
use crate::verdict::check_all;
use crate::workload::{Workload, WorkloadResult};

const ROUNDS_SHORT: usize = 2;
/// With the feature `faults`.
const ROUNDS_LONG: usize = 20;
/// Acknowledgements between two faults, at random.
const BETWEEN: Range<usize> = if cfg!(feature = "faults") { 100..300 } else { 40..120 };
/// Times as many, if the load has a crowd.
const CROWDED: usize = 4;
/// How often the effect of a fault is observed before it ends.
pub(crate) const OBSERVATIONS: usize = 12;

/// How often each fault is injected.
pub(crate) fn rounds() -> usize {
    let default = if cfg!(feature = "faults") { ROUNDS_LONG } else { ROUNDS_SHORT };
    number("FAULT_ROUNDS").map_or(default, |rounds| usize::try_from(rounds).unwrap())
}

/// The seed of all randomness of a test.
pub(crate) fn seed() -> u64 {
    number("FAULT_SEED").unwrap_or_else(|| rand::rng().random_range(0..1_000_000))
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

/// A load with faults, and its report lines.
#[derive(Debug)]
pub(crate) struct LoadRun {
    tried: WorkloadResult,
    lines: Vec<(&'static str, String)>,
}

/// Runs a load and injects each of `faults` in turn, at least once. `inject` waits for the effect, and ends the fault.
pub(crate) async fn run_with_faults<S: Copy>(
    fixture: &mut Fixture,
    faults: &[S],
    mut inject: impl AsyncFnMut(&mut Fixture, &mut Workload, S),
) -> LoadRun {
    let seed = seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let mut load = Workload::start(fixture, seed).await;
    let count = rounds().max(faults.len());
    let is_crowded = fixture.crowd != Crowd::None;
    let times = if is_crowded { CROWDED } else { 1 };
    for one in faults.iter().cycle().take(count) {
        let more = rng.random_range(BETWEEN) * times;
        load.wait_for_acknowledgements(more).await;
        inject(fixture, &mut load, *one).await;
    }
    load.wait_for_acknowledgements(BETWEEN.end * times).await;
    let batches = fixture.batches().await;
    assert!(batches > 0 || !is_crowded, "no batch was published");
    let unanswered = load.journal.unanswered();
    let unread = load.journal.unread();
    let tried = load.finish().await;
    let mut lines = vec![
        ("strikes", count.to_string()),
        ("tries without an answer", unanswered.to_string()),
        ("fresh reads that failed", unread.to_string()),
    ];
    if is_crowded {
        lines.push(("batches", batches.to_string()));
    }
    LoadRun { tried, lines }
}

impl LoadRun {
    /// Adds a line to the report.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.lines.push((name, value.into()));
        self
    }

    /// Adds the calls of a later load of the same fixture. Their times begin where the earlier ones end.
    pub(crate) fn followed_by(mut self, mut later: WorkloadResult) -> Self {
        let end = self.tried.calls.iter().map(|call| call.settled).max().unwrap_or_default();
        for call in &mut later.calls {
            call.invoked += end;
            call.settled += end;
        }
        later.seen.iter_mut().for_each(|read| read.invoked += end);
        self.tried.calls.append(&mut later.calls);
        self.tried.seen.append(&mut later.seen);
        self
    }

    /// Checks the result.
    pub(crate) async fn check(self, title: &str, fixture: &mut Fixture) {
        check_all(fixture, title, &self.tried, &self.lines).await;
    }
}
