//! What redaction does to the budget: a mark may be longer than the secret that it stands for. Turns that no longer fit make
//! room by steps, as the line does.

use domain::Version;

use super::Settings;
use crate::policy::Policy;
use crate::stages::budget::{self, NoRoom, Room};
use crate::stages::redact::{Redactions, redact};
use crate::stages::repair::Repaired;
use crate::stages::select::Selected;
use crate::unit::Unit;

/// What a turn weighs, and all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) version: Version,
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

/// What units weigh, in their order. Without their calls, units are not stopped by the line but by what there is no room
/// for: that stands first, so that the others make room for it by steps.
pub(super) fn weights(selected: &Selected, policy: &Policy) -> Vec<Weight> {
    let measure = selected.measure;
    let refused = measure.refused.filter(|_| policy.tool_digest.is_some());
    let refused = refused.map(|tokens| Weight {
        version: Version::ZERO,
        before: measure.refused_at,
        tokens,
    });
    let weigh = |unit: &Unit| Weight {
        version: unit.version,
        before: unit.begins_at(),
        tokens: budget::cost(unit, measure.line, policy),
    };
    let units = selected.units.iter().map(weigh);
    refused.into_iter().chain(units).collect()
}

/// Redacts each turn, and adds what that may add to its weight. Answers what was redacted, by turn.
pub(super) fn redact_turns(
    repaired: &mut Repaired,
    settings: &Settings<'_>,
    weights: &mut [Weight],
) -> Vec<(Version, Redactions)> {
    let mut redacted = Vec::new();
    for turn in &mut repaired.turns {
        let version = turn.version;
        // With a digest, calls are not part of the turn's weight.
        let calls = settings.policy.tool_digest.as_ref();
        let calls = calls.map(|_| std::mem::take(&mut turn.calls));
        let mut found = redact(std::slice::from_mut(turn), settings.rules);
        let added = found.tokens_added();
        if let Some(calls) = calls {
            turn.calls = calls;
            let said = std::mem::take(&mut turn.parts);
            found.merge(&redact(std::slice::from_mut(turn), settings.rules));
            turn.parts = said;
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

/// Finds where the turns begin that there is room for: where they do not all fit, at the first place among the line's at
/// which the rest does, so that it stands still for many turns; at any turn, if nothing fits from there on.
///
/// # Errors
/// [`NoRoom::NewestTurn`].
pub(super) fn begins(weights: &[Weight], room: Room) -> Result<Begins, NoRoom> {
    let mut begins = Begins::from(weights);
    if begins.tokens <= room.turns {
        return Ok(begins);
    }
    let mut anywhere = None;
    let mut rest = weights;
    while let [left, kept @ ..] = rest
        && let [next, ..] = kept
    {
        begins.tokens -= left.tokens;
        begins = Begins {
            first: next.version,
            before: next.before,
            fits_all: false,
            ..begins
        };
        if begins.tokens <= room.turns {
            anywhere.get_or_insert(begins);
            if left.before / room.step < next.before / room.step {
                return Ok(begins);
            }
        }
        rest = kept;
    }
    anywhere.ok_or_else(|| NoRoom::NewestTurn {
        needed: rest.first().map_or(0, |newest| newest.tokens),
        room: room.turns,
    })
}

impl From<&[Weight]> for Begins {
    /// All of them.
    fn from(weights: &[Weight]) -> Self {
        let first = weights.first();
        Self {
            first: first.map_or(Version::ZERO, |weight| weight.version),
            before: first.map_or(0, |weight| weight.before),
            tokens: weights.iter().map(|weight| weight.tokens).sum(),
            fits_all: true,
        }
    }
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
