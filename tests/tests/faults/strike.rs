//! How often and when faults strike.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::ground::Ground;
use crate::judgement::judge;
use crate::workload::{Tried, Workload};

const ROUNDS_SHORT: usize = 2;
/// With the feature `faults`.
const ROUNDS_LONG: usize = 20;
/// Acknowledgements between two strikes, at random.
const BETWEEN: std::ops::Range<usize> = 100..300;
/// How often a fault is felt before it is mended.
pub(crate) const FELT: usize = 12;

/// How often each fault strikes.
pub(crate) fn rounds() -> usize {
    let default = if cfg!(feature = "faults") {
        ROUNDS_LONG
    } else {
        ROUNDS_SHORT
    };
    number("FAULT_ROUNDS").map_or(default, |rounds| usize::try_from(rounds).unwrap())
}

/// What all randomness of a test comes from.
pub(crate) fn seed() -> u64 {
    number("FAULT_SEED").unwrap_or_else(|| rand::rng().random_range(0..1_000_000))
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is no number: {text}")),
    )
}

/// A load that was struck, and what is told of it.
#[derive(Debug)]
pub(crate) struct Bout {
    tried: Tried,
    lines: Vec<(&'static str, String)>,
}

/// Has a load go on, and strikes in turn with each of `strikes`, at least once. `strike` waits until it is felt, and mends it.
pub(crate) async fn bout<S: Copy>(
    ground: &mut Ground,
    strikes: &[S],
    mut strike: impl AsyncFnMut(&mut Ground, &mut Workload, S),
) -> Bout {
    let seed = seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let mut load = Workload::start(ground, seed).await;
    let count = rounds().max(strikes.len());
    for one in strikes.iter().cycle().take(count) {
        load.acknowledged(rng.random_range(BETWEEN)).await;
        strike(ground, &mut load, *one).await;
    }
    load.acknowledged(BETWEEN.end).await;
    let unanswered = load.journal.unanswered();
    let unread = load.journal.unread();
    let tried = load.finish().await;
    let lines = vec![
        ("strikes", count.to_string()),
        ("tries that came to nothing", unanswered.to_string()),
        ("fresh reads that failed", unread.to_string()),
    ];
    Bout { tried, lines }
}

impl Bout {
    /// Adds a line to what is told.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.lines.push((name, value.into()));
        self
    }

    /// Judges what is left.
    pub(crate) async fn judge(self, title: &str, ground: &mut Ground) {
        judge(ground, title, &self.tried, &self.lines).await;
    }
}
