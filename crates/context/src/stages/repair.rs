//! From units to turns that every provider takes: each call has an answer, none stands twice, all stand by version.
//!
//! A call without a result is no orphan while nothing came of it: it may wait for an approval, or its tool may still run.
//! It says so, and the caller is told which they are. Where the assistant went on without the result, or the conversation is
//! a fork that left the call behind, the call was interrupted, and its answer says that. Nothing is written to the record: a
//! result that comes later takes its place.

mod repeated;

use std::collections::BTreeSet;

use domain::event::{Role, ToolOutcome, ToolOutput};
use domain::{CallId, Part, Version};

use crate::transcript::{Answer, AnswerOrigin, AnsweredCall, Turn, Written};
use crate::unit::{Call, Unit};
use repeated::without;

pub use repeated::repeated;

/// What a model reads of a call that waits.
pub const PENDING: &str = "[No result yet: this tool call is still waiting.]";
/// What a model reads of a call that was left.
pub const INTERRUPTED: &str = "[No result: this tool call was interrupted before its result was recorded. It may or may not have taken effect.]";

/// Turns, and what was done to them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repaired {
    /// The turns, by version.
    pub turns: Vec<Turn>,
    /// The calls that wait, in order.
    pub pending: Vec<CallId>,
    /// The calls that were interrupted, in order.
    pub interrupted: Vec<CallId>,
    /// The versions of messages and calls that repeat earlier ones and were left out, ascending.
    pub repeated: Vec<Version>,
    /// The newest version at which an earlier turn came to read otherwise: its result came after a later turn had begun, or
    /// the assistant, or a fork, went on without it.
    pub revised: Option<Version>,
}

/// Makes turns of units, without what is `repeated`; `cleared` holds the versions of results that are stubs, calls up to
/// `shared` are not waited for.
#[must_use]
pub fn repair(
    mut units: Vec<Unit>,
    repeated: Vec<Version>,
    cleared: &BTreeSet<Version>,
    shared: Version,
) -> Repaired {
    units.sort_by_key(|unit| unit.version);
    let mut repaired = Repaired {
        repeated,
        revised: revised(&units, shared),
        ..Repaired::default()
    };
    let last_assistant = assistants(&units).last();
    for unit in units {
        let left_through = if Some(unit.version) < last_assistant {
            Version(u64::MAX)
        } else {
            shared
        };
        if let Some(unit) = without(unit, &repaired.repeated) {
            let turn = turn(unit, left_through, cleared);
            repaired.note(&turn);
            repaired.turns.push(turn);
        }
    }
    repaired
}

impl Repaired {
    /// Leaves out the turns before a version, and what was told of them.
    pub fn begin_at(&mut self, first: Version) {
        self.turns.retain(|turn| turn.version >= first);
        self.repeated.retain(|version| *version >= first);
        let turns = std::mem::take(&mut self.turns);
        self.pending.clear();
        self.interrupted.clear();
        for turn in &turns {
            self.note(turn);
        }
        self.turns = turns;
    }

    /// The versions of the results in whose place a stub stands.
    #[must_use]
    pub fn cleared(&self) -> BTreeSet<Version> {
        let calls = self.turns.iter().flat_map(|turn| &turn.calls);
        let cleared = calls.filter_map(|call| match call.answer.origin {
            AnswerOrigin::Cleared(version) => Some(version),
            AnswerOrigin::Recorded(_) | AnswerOrigin::Pending | AnswerOrigin::Interrupted => None,
        });
        cleared.collect()
    }

    fn note(&mut self, turn: &Turn) {
        for call in &turn.calls {
            let list = match call.answer.origin {
                AnswerOrigin::Pending => &mut self.pending,
                AnswerOrigin::Interrupted => &mut self.interrupted,
                AnswerOrigin::Recorded(_) | AnswerOrigin::Cleared(_) => continue,
            };
            list.push(call.called.call_id.clone());
        }
    }
}

/// Calls up to `left_through` without a result were left.
fn turn(unit: Unit, left_through: Version, cleared: &BTreeSet<Version>) -> Turn {
    let role = unit.role();
    let calls_provider = unit.calls.first();
    let calls_provider = calls_provider.and_then(|call| call.called.provider.clone());
    let (parts, author, provider) = unit.message.map_or_else(Default::default, |message| {
        (message.parts, message.author, message.provider)
    });
    let answer = |call: Call| {
        let answerless = if call.version <= left_through {
            AnswerOrigin::Interrupted
        } else {
            AnswerOrigin::Pending
        };
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
    AnsweredCall {
        version: call.version,
        called: call.called,
        answer,
    }
}

fn placeholder(origin: AnswerOrigin) -> Answer {
    let (text, outcome) = if origin == AnswerOrigin::Pending {
        (PENDING, ToolOutcome::Succeeded)
    } else {
        (INTERRUPTED, ToolOutcome::Failed)
    };
    Answer {
        output: ToolOutput::Parts(vec![Part::Text(text.to_owned())]),
        outcome,
        origin,
    }
}

/// The newest version at which an earlier turn came to read otherwise: its result came late, or it was given up.
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

/// The version at which a fork goes on without the results of a turn's calls.
fn left_by_a_fork(unit: &Unit, shared: Version) -> Option<Version> {
    let mut waiting = unit.calls.iter().filter(|call| call.result.is_none());
    let is_left = waiting.any(|call| call.version <= shared);
    is_left.then(|| shared.next())
}

fn assistants(units: &[Unit]) -> impl Iterator<Item = Version> {
    let turns = units.iter().filter(|unit| unit.role() == Role::Assistant);
    turns.map(|unit| unit.version)
}
