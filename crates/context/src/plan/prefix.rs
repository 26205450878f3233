//! Finds turns that were written after another prefix than the context's: their thoughts are valid only after that one
//! (A7 in `docs/reference/provider-rules.md`).
//!
//! A turn is judged together with its loop: a user's message and everything up to the next one. The prefix of a loop follows
//! from the last event before its answer: the clearing threshold at its token count, and the summary and repairs of that time.
//! The newest loop keeps its thoughts, since its model requires them. When the next loop takes them away, an earlier turn
//! changes and the epoch changes. Within an epoch a loop keeps the thoughts that it had.

use std::ops::Range;

use domain::event::Role;
use domain::{Part, Version};

use super::fit::{FirstTurn, Weight, first_turn};
use crate::stages::budget::Room;
use crate::transcript::{Turn, Written};
use crate::unit::{Call, Unit};

/// What a context's prefix depends on.
#[derive(Debug)]
pub(super) struct Prefix<'a> {
    /// The room for turns.
    pub(super) room: Room,
    /// The clearing threshold.
    pub(super) threshold: u64,
    /// The token count of the conversation through each event, by version.
    pub(super) token_counts: &'a [(Version, u64)],
    /// The weights of units, including those that no longer fit after redaction.
    pub(super) weights: &'a [Weight],
    /// The first turn.
    pub(super) first_turn: FirstTurn,
    /// The newest version at which the opening or an earlier turn changed.
    pub(super) revised_at: Version,
    /// The newest version that changed token counts of earlier events.
    pub(super) recounted_at: Version,
    /// Whether something other than the threshold decides where the turns begin.
    pub(super) is_cut_by_bound: bool,
}

/// The token count of the conversation through each event, by version.
pub(super) fn token_counts(units: &[Unit]) -> Vec<(Version, u64)> {
    let messages = units.iter().filter(|unit| unit.message.is_some()).map(|unit| (unit.version, unit.tokens.through));
    let calls = units.iter().flat_map(|unit| &unit.calls);
    let mut token_counts: Vec<_> = messages.chain(calls.flat_map(Call::token_counts)).collect();
    token_counts.sort_unstable();
    token_counts
}

/// Marks the turns with thoughts that were written after another prefix. Returns the version at which the loop after the last of
/// them begins: until then its thoughts were included.
pub(super) fn mark(turns: &mut [Turn], prefix: &Prefix<'_>) -> Option<Version> {
    let mut revised = None;
    for range in loops(turns) {
        let Some(next) = turns.get(range.end).map(|turn| turn.version) else {
            break;
        };
        let Some(turns) = turns.get_mut(range) else {
            continue;
        };
        if prefix.was_same_before(answer(turns).unwrap_or(next)) {
            continue;
        }
        for turn in turns.iter_mut().filter(|turn| has_thoughts(turn)) {
            turn.written = Written::BehindAnother;
            revised = Some(next);
        }
    }
    revised
}

impl Prefix<'_> {
    /// Whether the context had the same prefix before a version.
    fn was_same_before(&self, until: Version) -> bool {
        let seen = self.token_counts.partition_point(|(version, _)| *version < until);
        let counted = seen.checked_sub(1).and_then(|last| self.token_counts.get(last));
        let through = counted.map_or(0, |(_, through)| *through);
        !self.is_cut_by_bound
            && self.room.threshold(through) == self.threshold
            && self.revised_at < until
            && (self.threshold == 0 || self.recounted_at < until)
            && self.had_same_start(until)
    }

    fn had_same_start(&self, until: Version) -> bool {
        if self.first_turn.fits_all {
            return true;
        }
        let count = self.weights.partition_point(|weight| weight.version < until);
        let weights = self.weights.get(..count).unwrap_or_default();
        first_turn(weights, self.room).is_ok_and(|first_turn| first_turn.version == self.first_turn.version)
    }
}

/// Splits turns into loops: a user's message and everything up to the next one. Turns before the first one are a loop.
fn loops(turns: &[Turn]) -> Vec<Range<usize>> {
    let users = turns.iter().enumerate().skip(1).filter(|(_, turn)| turn.role == Role::User);
    let mut starts: Vec<usize> = std::iter::once(0).chain(users.map(|(index, _)| index)).collect();
    starts.push(turns.len());
    let ends = starts.iter().skip(1);
    starts.iter().zip(ends).map(|(from, to)| *from..*to).collect()
}

/// The version of a loop's answer: the assistant's last messages without calls.
fn answer(turns: &[Turn]) -> Option<Version> {
    let is_answer = |turn: &&Turn| turn.role == Role::Assistant && turn.calls.is_empty();
    let last = turns.iter().rev().take_while(is_answer).last();
    last.map(|turn| turn.version)
}

fn has_thoughts(turn: &Turn) -> bool {
    let thinks = |part: &Part| matches!(part, Part::Thinking { .. } | Part::RedactedThinking(_));
    turn.parts.iter().any(thinks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { turns: 100, fresh: 100, step: 50 };
    /// The first turn of a context that contains all turns.
    const ALL: FirstTurn = FirstTurn { version: Version(1), before: 0, tokens: 0, fits_all: true };

    /// Each event has 30 tokens: the threshold is 0 through version 3, 50 through version 5, and 100 through version 6.
    fn prefix<'a>(token_counts: &'a [(Version, u64)], change: impl FnOnce(&mut Prefix<'a>)) -> Prefix<'a> {
        let mut prefix = Prefix {
            room: ROOM,
            threshold: 50,
            token_counts,
            weights: &[],
            first_turn: ALL,
            revised_at: Version::ZERO,
            recounted_at: Version::ZERO,
            is_cut_by_bound: false,
        };
        change(&mut prefix);
        prefix
    }

    #[track_caller]
    fn check(until: u64, change: impl FnOnce(&mut Prefix<'_>), expected: bool) {
        let counts: Vec<_> = (1..=6).map(|version| (Version(version), version * 30)).collect();
        assert_eq!(prefix(&counts, change).was_same_before(Version(until)), expected, "{until}");
    }

    #[test]
    fn a_prefix_depends_on_threshold_and_changes_before_a_version() {
        for (until, expected) in [(1, false), (4, false), (5, true), (6, true), (7, false), (9, false)] {
            check(until, |_| (), expected);
        }
        for (until, expected) in [(1, true), (4, true), (5, false)] {
            check(until, |prefix| prefix.threshold = 0, expected);
        }
        check(5, |prefix| prefix.is_cut_by_bound = true, false);
        for (changed, expected) in [(3, true), (4, true), (5, false), (6, false)] {
            check(5, |prefix| prefix.revised_at = Version(changed), expected);
            check(5, |prefix| prefix.recounted_at = Version(changed), expected);
        }
        // Token counts decide nothing before the first trim.
        check(4, |prefix| (prefix.threshold, prefix.recounted_at) = (0, Version(9)), true);
    }

    #[test]
    fn a_prefix_begins_where_the_weights_before_a_version_begin() {
        let mut before = 0;
        let weights: Vec<Weight> = (1..)
            .zip([20, 20, 20, 20, 30])
            .map(|(version, tokens)| {
                before += tokens;
                Weight { version: Version(version), before: before - tokens, tokens }
            })
            .collect();
        let first_turn = first_turn(&weights, ROOM).unwrap();
        assert_eq!((first_turn.version, first_turn.fits_all), (Version(4), false));
        for (until, expected) in [(1, false), (4, false), (5, false), (6, true), (9, true)] {
            let prefix = prefix(&[], |prefix| (prefix.weights, prefix.first_turn) = (&weights, first_turn));
            assert_eq!(prefix.had_same_start(Version(until)), expected, "{until}");
        }
        assert!(prefix(&[], |_| ()).had_same_start(Version(1)));
    }
}
