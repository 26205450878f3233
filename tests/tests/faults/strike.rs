//! How often and when faults strike.

use rand::RngExt as _;

const ROUNDS_DEFAULT: usize = 2;

/// How often each fault strikes.
pub(crate) fn rounds() -> usize {
    number("FAULT_ROUNDS").map_or(ROUNDS_DEFAULT, |rounds| usize::try_from(rounds).unwrap())
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
