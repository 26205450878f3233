//! Random runs in a conversation.

use domain::event::{Fact, Role};
use domain::{RunPart, RunPartKind, ToolName};
use proptest::prelude::*;
use runs::{Approvals, RunFold, UiMessage};
use serde_json::Value;

use super::client::comparable;
use super::record::{Record, said, started};
use super::script::{GUARDED, Script, late_answers, numbered, parts, script};

/// A conversation before a run, and the run.
#[derive(Debug, Clone)]
pub struct Case {
    pub earlier: Option<Script>,
    /// When the open calls of the earlier run are answered.
    pub late: Late,
    pub user_speaks: bool,
    pub script: Script,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Late {
    Never,
    BeforeTheRun,
    InTheRun,
}

pub fn case() -> impl Strategy<Value = Case> {
    let late = prop::sample::select(vec![Late::Never, Late::BeforeTheRun, Late::InTheRun]);
    (prop::option::of(script()), late, any::<bool>(), script()).prop_map(|(earlier, late, user_speaks, script)| Case {
        earlier,
        late,
        user_speaks,
        script,
    })
}

pub fn approvals() -> Approvals {
    [ToolName::parse(GUARDED).unwrap()].into_iter().collect()
}

pub fn fold_of(parts: &[RunPart]) -> RunFold {
    let mut fold = RunFold::new(started(2));
    for part in parts {
        fold.absorb(part).unwrap();
    }
    fold
}

/// The record with the start of the run, and the parts of the run.
pub fn set_up(case: &Case) -> (Record, Vec<RunPart>) {
    let mut record = Record::default();
    record.commit(vec![said(Role::User, "hello")]);
    let mut late = Vec::new();
    if let Some(earlier) = &case.earlier {
        let mut fold = RunFold::new(started(1));
        for part in parts(earlier, "a") {
            fold.absorb(&part).unwrap();
        }
        record.commit(vec![Fact::from(started(1))]);
        record.finish(started(1).run, earlier.outcome, fold.facts());
        late = late_answers(earlier, "a");
    }
    let mut start = Vec::new();
    let mut kinds = Vec::new();
    match case.late {
        Late::Never => {}
        Late::BeforeTheRun => start.extend(late.into_iter().map(Fact::ToolReturned)),
        Late::InTheRun => kinds.extend(late.into_iter().map(RunPartKind::ToolReturned)),
    }
    if case.user_speaks {
        start.push(said(Role::User, "and?"));
        // No page gets a chunk for a result before the user message.
        kinds.clear();
    }
    start.push(Fact::from(started(2)));
    record.commit(start);
    kinds.extend(parts(&case.script, "b").into_iter().map(|part| part.kind));
    (record, numbered(kinds))
}

pub fn json(message: &UiMessage) -> Value {
    comparable(serde_json::to_value(message).unwrap())
}

/// The message without incomplete calls, and without a step that contained only those: a page drops them at the end of the
/// run.
pub fn without_cut_calls(mut message: Value) -> Value {
    let parts = message["parts"].as_array_mut().unwrap();
    parts.retain(|part| part["state"] != "input-streaming");
    if parts.last().is_some_and(|part| part["type"] == "step-start") {
        parts.pop();
    }
    message
}
