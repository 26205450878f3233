//! What redaction does to the budget: a mark may be longer than the secret that it stands for.

use domain::Version;

use crate::policy::Policy;
use crate::stages::budget::{self, NoRoom, Room};
use crate::stages::redact::{Redactions, Rules, redact};
use crate::stages::repair::Repaired;
use crate::unit::Unit;

/// What one redaction adds to a text, at most: the mark is longer than a short secret.
const REDACTION_TOKENS: u64 = 16;

/// What a turn weighs, and all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weight {
    version: Version,
    before: u64,
    tokens: u64,
}

/// Where the turns of a context begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Begins {
    /// The version of the first one; 0: there is none.
    pub(super) first: Version,
    /// What all before it weigh.
    pub(super) before: u64,
    /// What it and all after it weigh.
    pub(super) tokens: u64,
    /// Whether that is all of them.
    pub(super) fits_all: bool,
}

/// What units weigh, in their order.
pub(super) fn weights(units: &[Unit], line: u64, policy: &Policy) -> Vec<Weight> {
    let weigh = |unit: &Unit| Weight {
        version: unit.version,
        before: unit.begins_at(),
        tokens: budget::cost(unit, line, policy),
    };
    units.iter().map(weigh).collect()
}

/// Redacts each turn, and adds what that may add to its weight. Answers what was redacted, by turn.
pub(super) fn redact_turns(
    repaired: &mut Repaired,
    rules: &Rules,
    weights: &mut [Weight],
) -> Vec<(Version, Redactions)> {
    let mut redacted = Vec::new();
    for turn in &mut repaired.turns {
        let version = turn.version;
        let found = redact(std::slice::from_mut(turn), rules);
        if found == Redactions::default() {
            continue;
        }
        if let Ok(index) = weights.binary_search_by_key(&version, |weight| weight.version)
            && let Some(weight) = weights.get_mut(index)
        {
            weight.tokens += found.total() * REDACTION_TOKENS;
        }
        redacted.push((version, found));
    }
    redacted
}

/// Finds where the turns begin that there is room for.
///
/// # Errors
/// [`NoRoom::NewestTurn`].
pub(super) fn begins(weights: &[Weight], room: Room) -> Result<Begins, NoRoom> {
    let room = room.turns;
    let mut tokens = weights.iter().map(|weight| weight.tokens).sum::<u64>();
    let mut rest = weights;
    while let [oldest, newer @ ..] = rest
        && tokens > room
    {
        if newer.is_empty() {
            let needed = oldest.tokens;
            return Err(NoRoom::NewestTurn { needed, room });
        }
        tokens -= oldest.tokens;
        rest = newer;
    }
    let first = rest.first();
    Ok(Begins {
        first: first.map_or(Version::ZERO, |weight| weight.version),
        before: first.map_or(0, |weight| weight.before),
        tokens,
        fits_all: rest.len() == weights.len(),
    })
}

impl Begins {
    /// What was redacted in the turns that are left.
    pub(super) fn redactions(&self, redacted: &[(Version, Redactions)]) -> Redactions {
        let mut found = Redactions::default();
        let kept = redacted.iter();
        let kept = kept.filter(|(version, _)| *version >= self.first);
        for (_, redactions) in kept {
            found.merge(redactions);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room {
        turns: 100,
        fresh: 100,
        step: 50,
    };

    /// Turns of these weights at versions 1, 2, 3 …; what is told: the first one, what is before, what is left.
    fn check(tokens: &[u64], expected: Result<(u64, u64, u64), NoRoom>) {
        let mut before = 0;
        let weights: Vec<Weight> = (1..)
            .zip(tokens)
            .map(|(version, tokens)| {
                before += tokens;
                Weight {
                    version: Version(version),
                    before: before - tokens,
                    tokens: *tokens,
                }
            })
            .collect();
        let told = begins(&weights, ROOM);
        let told = told.map(|begins| (begins.first.0, begins.before, begins.tokens));
        assert_eq!(told, expected, "{tokens:?}");
    }

    #[test]
    fn the_oldest_go_and_the_newest_must_fit() {
        check(&[], Ok((0, 0, 0)));
        check(&[60, 40], Ok((1, 0, 100)));
        check(&[60, 41], Ok((2, 60, 41)));
        check(&[9, 90, 5, 6], Ok((3, 99, 11)));
        check(&[1, 100], Ok((2, 1, 100)));
        let (needed, room) = (101, 100);
        check(&[1, 101], Err(NoRoom::NewestTurn { needed, room }));
    }
}
