//! Which turns were written behind another beginning than the context's: their thoughts are valid there alone (A7).
//!
//! A turn is judged with its loop: a user's message and all up to the next one. What was asked last in a loop, before its
//! answer, says what the loop stood behind: the line that its tokens give, the summary and the repairs that there were. A
//! newest loop keeps its thoughts, since its model asks for them; where the next one takes them from it, an earlier turn reads
//! otherwise, and the epoch is another. So within an epoch a loop that had its thoughts keeps them.

use std::ops::Range;

use domain::event::Role;
use domain::{Part, Version};

use super::fit::{Begins, Weight, begins};
use crate::stages::budget::Room;
use crate::transcript::{Turn, Written};
use crate::unit::{Call, Unit};

/// What the context's beginning hangs on.
#[derive(Debug)]
pub(super) struct Standing<'a> {
    /// The room for turns.
    pub(super) room: Room,
    /// Where its line is.
    pub(super) line: u64,
    /// The place of each event, by version.
    pub(super) places: &'a [(Version, u64)],
    /// What units weigh, those that are left out for their marks among them.
    pub(super) weights: &'a [Weight],
    /// Where its turns begin.
    pub(super) begins: Begins,
    /// The newest version at which an opening or an earlier turn came to read otherwise.
    pub(super) since: Version,
    /// The newest version from which on places of earlier events are others than they were.
    pub(super) moved_at: Version,
    /// Whether something else than the line decides where it begins.
    pub(super) by_bound: bool,
}

/// The places of events, by version.
pub(super) fn places(units: &[Unit]) -> Vec<(Version, u64)> {
    let messages = units.iter().filter(|unit| unit.message.is_some());
    let messages = messages.map(|unit| (unit.version, unit.tokens.through));
    let calls = units.iter().flat_map(|unit| &unit.calls);
    let mut places: Vec<_> = messages.chain(calls.flat_map(Call::places)).collect();
    places.sort_unstable();
    places
}

/// Marks the turns with thoughts that were written behind another beginning. Answers where the loop after the last of them
/// begins: up to there its thoughts were shown, since it was the newest.
pub(super) fn mark(turns: &mut [Turn], standing: &Standing<'_>) -> Option<Version> {
    let mut revised = None;
    for range in loops(turns) {
        let Some(next) = turns.get(range.end).map(|turn| turn.version) else {
            break;
        };
        let Some(turns) = turns.get_mut(range) else {
            continue;
        };
        if standing.stood_before(answer(turns).unwrap_or(next)) {
            continue;
        }
        for turn in turns.iter_mut().filter(|turn| has_thoughts(turn)) {
            turn.written = Written::BehindAnother;
            revised = Some(next);
        }
    }
    revised
}

impl Standing<'_> {
    /// Whether the context began alike before a version.
    fn stood_before(&self, until: Version) -> bool {
        let seen = self.places.partition_point(|(version, _)| *version < until);
        let asked = seen.checked_sub(1).and_then(|last| self.places.get(last));
        let through = asked.map_or(0, |(_, through)| *through);
        !self.by_bound
            && self.room.line(through) == self.line
            && self.since < until
            && (self.line == 0 || self.moved_at < until)
            && self.was_cut_alike(until)
    }

    fn was_cut_alike(&self, until: Version) -> bool {
        if self.begins.fits_all {
            return true;
        }
        let count = self
            .weights
            .partition_point(|weight| weight.version < until);
        let weights = self.weights.get(..count).unwrap_or_default();
        begins(weights, self.room).is_ok_and(|begins| begins.first == self.begins.first)
    }
}

/// A user's message with all up to the next one; before the first of them, what stands there.
fn loops(turns: &[Turn]) -> Vec<Range<usize>> {
    let users = turns.iter().enumerate().skip(1);
    let users = users.filter(|(_, turn)| turn.role == Role::User);
    let mut starts: Vec<usize> = std::iter::once(0)
        .chain(users.map(|(index, _)| index))
        .collect();
    starts.push(turns.len());
    let ends = starts.iter().skip(1);
    starts
        .iter()
        .zip(ends)
        .map(|(from, to)| *from..*to)
        .collect()
}

/// The version of a loop's answer: what the assistant says last, without a call.
fn answer(turns: &[Turn]) -> Option<Version> {
    let said = |turn: &&Turn| turn.role == Role::Assistant && turn.calls.is_empty();
    let last = turns.iter().rev().take_while(said).last();
    last.map(|turn| turn.version)
}

fn has_thoughts(turn: &Turn) -> bool {
    let thinks = |part: &Part| matches!(part, Part::Thinking { .. } | Part::RedactedThinking(_));
    turn.parts.iter().any(thinks)
}
