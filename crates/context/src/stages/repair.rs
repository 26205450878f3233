//! Repair: turns units into turns that every provider accepts. Each call has exactly one answer, and turns are ordered by
//! version. Equal events are not one: a model may say the same twice, and a tool may answer the same.
//!
//! A call without a result is pending: it may wait for an approval, or its tool may still run. A note says so, and the caller
//! gets its id. If the assistant continued without the result, or a fork inherited the call without it, the call was
//! interrupted, and its note says that. Nothing is written to the record: a result that is recorded later replaces the note.

use std::collections::BTreeSet;

use domain::event::{Role, ToolOutcome, ToolOutput};
use domain::{Part, Version};

use crate::outcome::{Effect, Outcome};
use crate::transcript::{Answer, AnswerOrigin, AnsweredCall, Turn, Written};
use crate::unit::{Call, Unit};

/// The answer of a pending call.
pub const PENDING: &str = "[No result yet: this tool call is still waiting.]";
/// The answer of an interrupted call.
pub const INTERRUPTED: &str =
    "[No result: this tool call was interrupted before its result was recorded. It may or may not have taken effect.]";

/// Repaired turns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repaired {
    /// The turns, by version.
    pub turns: Vec<Turn>,
    /// In the order of the calls, [`Effect::Pending`] and [`Effect::Interrupted`] for those without a result.
    pub outcomes: Vec<Outcome>,
    /// The newest version at which an earlier turn changed: its result was recorded after a later turn had begun, or the assistant,
    /// or a fork, continued without it.
    pub revised: Option<Version>,
}

/// Makes turns of units. `cleared` holds the versions of results that are stubs. Calls up to `shared` are interrupted if they have no
/// result.
#[must_use]
pub fn repair(mut units: Vec<Unit>, cleared: &BTreeSet<Version>, shared: Version) -> Repaired {
    units.sort_by_key(|unit| unit.version);
    let mut repaired = Repaired { revised: revised(&units, shared), ..Repaired::default() };
    let last_assistant = assistants(&units).last();
    for unit in units {
        let left_through = if Some(unit.version) < last_assistant { Version(u64::MAX) } else { shared };
        let turn = turn(unit, left_through, cleared);
        repaired.outcomes.extend(answerless(&turn));
        repaired.turns.push(turn);
    }
    repaired
}

impl Repaired {
    /// The versions of the results that stubs replace.
    #[must_use]
    pub fn cleared(&self) -> BTreeSet<Version> {
        let calls = self.turns.iter().flat_map(|turn| &turn.calls);
        let cleared = calls.filter_map(|call| match call.answer.origin {
            AnswerOrigin::Cleared(version) => Some(version),
            AnswerOrigin::Recorded(_) | AnswerOrigin::Pending | AnswerOrigin::Interrupted => None,
        });
        cleared.collect()
    }
}

/// The outcomes of a turn's calls that have no result.
fn answerless(turn: &Turn) -> impl Iterator<Item = Outcome> + '_ {
    turn.calls.iter().filter_map(|call| {
        let id = &call.called.call_id;
        let effect = match call.answer.origin {
            AnswerOrigin::Pending => Effect::Pending(id.clone()),
            AnswerOrigin::Interrupted => Effect::Interrupted(id.clone()),
            AnswerOrigin::Recorded(_) | AnswerOrigin::Cleared(_) => return None,
        };
        Some(Outcome::of(turn.version, call.version, effect))
    })
}

/// Calls up to `left_through` without a result are interrupted.
fn turn(unit: Unit, left_through: Version, cleared: &BTreeSet<Version>) -> Turn {
    let role = unit.role();
    let calls_provider = unit.calls.first().and_then(|call| call.called.provider.clone());
    let (parts, author, provider) =
        unit.message.map_or_else(Default::default, |message| (message.parts, message.author, message.provider));
    let answer = |call: Call| {
        let answerless = if call.version <= left_through { AnswerOrigin::Interrupted } else { AnswerOrigin::Pending };
        answered(call, answerless, cleared)
    };
    Turn {
        version: unit.version,
        role,
        parts,
        author,
        provider: provider.or(calls_provider),
        written: Written::default(),
        calls: unit.calls.into_iter().map(answer).collect(),
    }
}

fn answered(call: Call, answerless: AnswerOrigin, cleared: &BTreeSet<Version>) -> AnsweredCall {
    let answer = match call.result {
        Some(result) => Answer {
            output: result.returned.output,
            outcome: result.returned.outcome,
            origin: if cleared.contains(&result.version) {
                AnswerOrigin::Cleared(result.version)
            } else {
                AnswerOrigin::Recorded(result.version)
            },
        },
        None => placeholder(answerless),
    };
    AnsweredCall { version: call.version, called: call.called, answer }
}

fn placeholder(origin: AnswerOrigin) -> Answer {
    let (text, outcome) = if origin == AnswerOrigin::Pending {
        (PENDING, ToolOutcome::Succeeded)
    } else {
        (INTERRUPTED, ToolOutcome::Failed)
    };
    Answer { output: ToolOutput::Parts(vec![Part::Text(text.to_owned())]), outcome, origin }
}

/// The newest version at which an earlier turn changed: its result was late, or it was interrupted.
fn revised(units: &[Unit], shared: Version) -> Option<Version> {
    let following = units.iter().skip(1).map(|unit| unit.version);
    let late = units.iter().zip(following).flat_map(|(unit, next)| {
        let results = unit.calls.iter().filter_map(|call| call.result.as_ref());
        let versions = results.map(|result| result.version);
        versions.filter(move |version| *version > next)
    });
    let waiting = units.iter().filter(|unit| unit.pending().next().is_some());
    let given_up = waiting.filter_map(|unit| {
        let later = assistants(units).filter(|version| *version > unit.version);
        later.chain(left_by_a_fork(unit, shared)).min()
    });
    late.chain(given_up).max()
}

/// The version at which a fork continues without the results of a turn's calls.
fn left_by_a_fork(unit: &Unit, shared: Version) -> Option<Version> {
    let mut waiting = unit.calls.iter().filter(|call| call.result.is_none());
    let is_left = waiting.any(|call| call.version <= shared);
    is_left.then(|| shared.next())
}

fn assistants(units: &[Unit]) -> impl Iterator<Item = Version> {
    let turns = units.iter().filter(|unit| unit.role() == Role::Assistant);
    turns.map(|unit| unit.version)
}
