//! Fits turns into the budget after redaction: a mark can have more tokens than the secret that it replaces. The oldest turns
//! are omitted by steps, as in the budget stage.

use domain::Version;
use redact::Redactor;

use crate::outcome::{Effect, Outcome};
use crate::policy::Policy;
use crate::stages::budget::{self, NoRoom, Room};
use crate::stages::redact::{Redactions, redact};
use crate::stages::repair::Repaired;
use crate::stages::select::Selected;
use crate::transcript::Turn;
use crate::unit::Unit;

/// The tokens of a turn and of everything before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) version: Version,
    pub(super) before: u64,
    pub(super) tokens: u64,
}

/// The first turn of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FirstTurn {
    /// Its version; 0: there are no turns.
    pub(super) version: Version,
    /// The tokens before it.
    pub(super) before: u64,
    /// The tokens from it on.
    pub(super) tokens: u64,
    /// Whether all turns fit.
    pub(super) fits_all: bool,
}

/// The weights of units, in order. With a tool digest, the first unit that does not fit comes first, so that the others make
/// room for it by steps.
pub(super) fn weights(selected: &Selected, policy: &Policy) -> Vec<Weight> {
    let measure = selected.measure;
    let refused = measure.refused.filter(|_| policy.tool_digest.is_some()).map(|tokens| Weight {
        version: Version::ZERO,
        before: measure.refused_at,
        tokens,
    });
    let weigh = |unit: &Unit| Weight {
        version: unit.version,
        before: unit.tokens_before(),
        tokens: budget::cost(unit, measure.threshold, policy),
    };
    let units = selected.units.iter().map(weigh);
    refused.into_iter().chain(units).collect()
}

/// Redacts each turn and adjusts its weight. Returns the redactions of each turn.
pub(super) fn redact_turns(
    repaired: &mut Repaired,
    redactor: &Redactor<'_>,
    policy: &Policy,
    weights: &mut [Weight],
) -> Vec<(Version, Redactions)> {
    let mut redacted = Vec::new();
    for turn in &mut repaired.turns {
        let version = turn.version;
        // With a digest, calls do not count towards the turn's weight.
        let calls = policy.tool_digest.as_ref().map(|_| std::mem::take(&mut turn.calls));
        let mut found = redact(std::slice::from_mut(turn), redactor);
        let added = found.tokens_added();
        if let Some(calls) = calls {
            turn.calls = calls;
            let parts = std::mem::take(&mut turn.parts);
            found.merge(&redact(std::slice::from_mut(turn), redactor));
            turn.parts = parts;
        }
        if found == Redactions::default() {
            continue;
        }
        if let Ok(index) = weights.binary_search_by_key(&version, |weight| weight.version)
            && let Some(weight) = weights.get_mut(index)
        {
            weight.tokens = weight.tokens.saturating_add_signed(added);
        }
        redacted.push((version, found));
    }
    redacted
}

/// Finds the first turn such that the rest fits. If not all turns fit, it is the first turn after a step, so that it stays the
/// same for many turns; if no step leaves a rest that fits, it is any turn.
///
/// # Errors
/// [`NoRoom::NewestTurn`].
pub(super) fn first_turn(weights: &[Weight], room: Room) -> Result<FirstTurn, NoRoom> {
    let mut first_turn = FirstTurn::from(weights);
    if first_turn.tokens <= room.turns {
        return Ok(first_turn);
    }
    let mut anywhere = None;
    let mut rest = weights;
    while let [left, kept @ ..] = rest
        && let [next, ..] = kept
    {
        first_turn.tokens -= left.tokens;
        first_turn = FirstTurn { version: next.version, before: next.before, fits_all: false, ..first_turn };
        if first_turn.tokens <= room.turns {
            anywhere.get_or_insert(first_turn);
            if left.before / room.step < next.before / room.step {
                return Ok(first_turn);
            }
        }
        rest = kept;
    }
    anywhere
        .ok_or_else(|| NoRoom::NewestTurn { needed: rest.first().map_or(0, |newest| newest.tokens), room: room.turns })
}

/// As [`first_turn`], of the turns that were read. The unit that did not fit was not: redaction may have made room for it since.
///
/// # Errors
/// [`NoRoom::NewestTurn`].
pub(super) fn first_read_turn(weights: &[Weight], room: Room) -> Result<FirstTurn, NoRoom> {
    let found = first_turn(weights, room)?;
    let read = weights.get(1..).filter(|_| found.version == Version::ZERO);
    Ok(read.map_or(found, FirstTurn::from))
}

impl From<&[Weight]> for FirstTurn {
    /// All of them.
    fn from(weights: &[Weight]) -> Self {
        let first = weights.first();
        Self {
            version: first.map_or(Version::ZERO, |weight| weight.version),
            before: first.map_or(0, |weight| weight.before),
            tokens: weights.iter().map(|weight| weight.tokens).sum(),
            fits_all: true,
        }
    }
}

impl FirstTurn {
    /// Takes out the turns before the first one and the outcomes of their events. Returns the versions of those turns.
    pub(super) fn apply(self, repaired: &mut Repaired, outcomes: &mut Vec<Outcome>) -> Vec<Version> {
        if self.fits_all {
            return Vec::new();
        }
        let turns = std::mem::take(&mut repaired.turns).into_iter();
        let (older, kept): (Vec<_>, Vec<_>) = turns.partition(|turn| turn.version < self.version);
        repaired.turns = kept;
        let stubs = repaired.cleared();
        outcomes.retain(|outcome| {
            let is_stub = matches!(outcome.effect, Effect::Cleared { .. });
            outcome.turn >= self.version && (!is_stub || stubs.contains(&outcome.first))
        });
        older.iter().flat_map(Turn::versions).collect()
    }

    /// The redactions in the remaining turns.
    pub(super) fn redactions(&self, redacted: &[(Version, Redactions)]) -> Redactions {
        let mut found = Redactions::default();
        let kept = redacted.iter().filter(|(version, _)| *version >= self.version);
        for (_, redactions) in kept {
            found.merge(redactions);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { turns: 100, fresh: 100, step: 50 };

    /// Turns of these weights at the first version and the next ones.
    fn weights(first: u64, tokens: &[u64]) -> Vec<Weight> {
        let mut before = 0;
        let weigh = |(version, tokens): (u64, &u64)| {
            before += tokens;
            Weight { version: Version(version), before: before - tokens, tokens: *tokens }
        };
        (first..).zip(tokens).map(weigh).collect()
    }

    /// Turns of these weights at versions 1, 2, 3 …; expected: the first version, the tokens before it, the remaining tokens.
    fn check(tokens: &[u64], expected: Result<(u64, u64, u64), NoRoom>) {
        let weights = weights(1, tokens);
        for found in [first_turn(&weights, ROOM), first_read_turn(&weights, ROOM)] {
            let found = found.map(|first_turn| (first_turn.version.0, first_turn.before, first_turn.tokens));
            assert_eq!(found, expected, "{tokens:?}");
        }
    }

    /// The unit that did not fit has version 0. Redaction may have made the others so short that it would fit now.
    #[test]
    fn a_unit_that_was_not_read_is_never_the_first_turn() {
        for (tokens, expected) in [
            (&[41, 60][..], (1, 41, 60, false)),
            (&[40, 60], (1, 40, 60, true)),
            (&[0, 1], (1, 0, 1, true)),
            (&[20, 20, 20, 20, 20], (1, 20, 80, true)),
            (&[20, 20, 20, 20, 21], (3, 60, 41, false)),
        ] {
            let found = first_read_turn(&weights(0, tokens), ROOM).unwrap();
            assert_eq!((found.version.0, found.before, found.tokens, found.fits_all), expected, "{tokens:?}");
        }
    }

    #[test]
    fn the_oldest_go_by_steps_and_the_newest_must_fit() {
        check(&[], Ok((0, 0, 0)));
        check(&[60, 40], Ok((1, 0, 100)));
        check(&[60, 41], Ok((2, 60, 41)));
        // A step is 50 tokens: the first turn past one, and the same one until the next step.
        check(&[20, 20, 20, 20, 30], Ok((4, 60, 50)));
        check(&[20, 20, 20, 20, 30, 40], Ok((4, 60, 90)));
        check(&[20, 20, 20, 20, 30, 40, 20], Ok((6, 110, 60)));
        check(&[50, 40, 20], Ok((2, 50, 60)));
        check(&[49, 40, 20], Ok((3, 89, 20)));
        // No step leaves anything that fits.
        check(&[9, 90, 5, 6], Ok((3, 99, 11)));
        check(&[1, 100], Ok((2, 1, 100)));
        let (needed, room) = (101, 100);
        check(&[1, 101], Err(NoRoom::NewestTurn { needed, room }));
    }
}
