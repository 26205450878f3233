//! Random actions of a model and its tools in a run, and the parts of the run.

use domain::event::{ErrorOccurred, Fact, Role, ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
use domain::{CallId, JsonText, Label, Part, RunEnd, RunOutcome, RunPart, RunPartKind, ToolName};
use proptest::prelude::*;
use runs::{DeltaKind, Denial, denial_result};

use super::record::message;

/// A run.
#[derive(Debug, Clone)]
pub struct Script {
    pub steps: Vec<Step>,
    /// A step without an end.
    pub unfinished: Option<Step>,
    pub outcome: RunOutcome,
    pub error: Option<&'static str>,
}

#[derive(Debug, Clone)]
pub struct Step {
    pub words: Vec<(DeltaKind, Vec<String>)>,
    pub calls: Vec<Call>,
    pub finish_reason: Option<&'static str>,
    /// Whether the model streams.
    pub streamed: bool,
}

#[derive(Debug, Clone)]
pub struct Call {
    pub tool: &'static str,
    pub input: &'static str,
    pub answer: Option<Answer>,
}

#[derive(Debug, Clone)]
pub enum Answer {
    Json(&'static str),
    Text(&'static str),
    Failed(&'static str),
    Denied,
}

/// The tool whose calls need approval.
pub const GUARDED: &str = "delete-file";

pub fn script() -> impl Strategy<Value = Script> {
    let ending = prop_oneof![
        Just((RunOutcome::Completed, None)),
        Just((RunOutcome::Stopped, None)),
        Just((RunOutcome::Failed, None)),
        Just((RunOutcome::Failed, Some("model_timed_out"))),
        Just((RunOutcome::Failed, Some("secret"))),
        Just((RunOutcome::Abandoned, None)),
    ];
    let steps = prop::collection::vec(step(), 0..4);
    (steps, prop::option::of(step()), ending).prop_map(|(steps, unfinished, (outcome, error))| Script {
        steps,
        unfinished,
        outcome,
        error,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        3 => Just(DeltaKind::Text),
        2 => Just(DeltaKind::Thinking),
        1 => Just(DeltaKind::Refusal),
    ];
    let deltas = prop::collection::vec("[a-z \\n\"é😀]{1,6}", 1..4);
    let words = prop::collection::vec((kind, deltas), 0..4);
    let calls = prop::collection::vec(call(), 0..3);
    let reason = prop::option::of(prop::sample::select(vec!["stop", "max_tokens", "tool_use"]));
    (words, calls, reason, prop::bool::weighted(0.8)).prop_map(|(words, calls, finish_reason, streamed)| Step {
        words: merge(words),
        calls,
        finish_reason,
        streamed,
    })
}

/// Merges adjacent texts of one kind.
fn merge(words: Vec<(DeltaKind, Vec<String>)>) -> Vec<(DeltaKind, Vec<String>)> {
    let mut merged: Vec<(DeltaKind, Vec<String>)> = Vec::new();
    for (kind, deltas) in words {
        match merged.last_mut() {
            Some((last, before)) if *last == kind => before.extend(deltas),
            _ => merged.push((kind, deltas)),
        }
    }
    merged
}

fn call() -> impl Strategy<Value = Call> {
    let inputs = vec!["{}", "{\"a\": \"é\\n\"}", "{\n \"a\": [1, {\"b\": null}]\n}", "7"];
    let answer = prop_oneof![
        Just(Answer::Json("{\"ok\":true}")),
        Just(Answer::Json("null")),
        Just(Answer::Text("done")),
        Just(Answer::Failed("no such file")),
        Just(Answer::Denied),
    ];
    let tools = vec!["get-time", GUARDED];
    (prop::sample::select(tools), prop::sample::select(inputs), prop::option::weighted(0.8, answer))
        .prop_map(|(tool, input, answer)| Call { tool, input, answer })
}

/// The parts of a run; `name` makes the ids of its calls unique.
pub fn parts(script: &Script, name: &str) -> Vec<RunPart> {
    let mut kinds = Vec::new();
    for (index, step) in script.steps.iter().enumerate() {
        let ids = format!("{name}_{index}");
        if step.streamed {
            stream(step, &ids, &mut kinds);
        }
        kinds.push(RunPartKind::StepFinished(facts_of(step, &ids)));
        kinds.push(RunPartKind::KeptAlive);
        for (place, call) in step.calls.iter().enumerate() {
            kinds.extend(answer(call, call_id(&ids, place)).map(RunPartKind::ToolReturned));
        }
    }
    if let Some(step) = &script.unfinished {
        stream(step, &format!("{name}_x"), &mut kinds);
    }
    let error = script.error.map(|error_type| ErrorOccurred {
        error_type: Label::parse(error_type).unwrap(),
        message: "what the provider said".to_owned(),
    });
    kinds.push(RunPartKind::RunEnded(RunEnd { outcome: script.outcome, error }));
    numbered(kinds)
}

/// The kinds, numbered from 1.
pub fn numbered(kinds: Vec<RunPartKind>) -> Vec<RunPart> {
    (1..).zip(kinds).map(|(number, kind)| RunPart { number, kind }).collect()
}

fn stream(step: &Step, ids: &str, kinds: &mut Vec<RunPartKind>) {
    for (kind, deltas) in &step.words {
        for delta in deltas.iter().cloned() {
            kinds.push(match kind {
                DeltaKind::Text => RunPartKind::TextDelta(delta),
                DeltaKind::Thinking => RunPartKind::ThinkingDelta(delta),
                DeltaKind::Refusal => RunPartKind::RefusalDelta(delta),
            });
            kinds.push(RunPartKind::KeptAlive);
        }
    }
    for (place, call) in step.calls.iter().enumerate() {
        let index = u32::try_from(place).unwrap();
        kinds.push(RunPartKind::CallBegan {
            index,
            call_id: call_id(ids, place),
            tool_name: ToolName::parse(call.tool).unwrap(),
        });
        for sign in call.input.chars() {
            kinds.push(RunPartKind::CallInput { index, fragment: sign.to_string() });
        }
    }
}

fn facts_of(step: &Step, ids: &str) -> Vec<Fact> {
    let part = |(kind, deltas): &(DeltaKind, Vec<String>)| match kind {
        DeltaKind::Text => Part::Text(deltas.concat()),
        DeltaKind::Refusal => Part::Refusal(deltas.concat()),
        DeltaKind::Thinking => Part::Thinking { text: deltas.concat(), signature: Some("s".to_owned()) },
    };
    let mut said = message(Role::Assistant, step.words.iter().map(part).collect());
    said.finish_reason = step.finish_reason.map(|reason| Label::parse(reason).unwrap());
    let called = |(place, call): (usize, &Call)| {
        Fact::ToolCalled(ToolCalled {
            call_id: call_id(ids, place),
            tool_name: ToolName::parse(call.tool).unwrap(),
            input: JsonText::parse(call.input).unwrap(),
            model: None,
            provider: None,
            provider_response_id: None,
            signature: None,
        })
    };
    let calls = step.calls.iter().enumerate().map(called);
    [Fact::MessageAppended(said)].into_iter().chain(calls).collect()
}

fn answer(call: &Call, call_id: CallId) -> Option<ToolReturned> {
    let returned = |output, outcome| ToolReturned { call_id: call_id.clone(), tool_name: None, output, outcome };
    let text = |text: &str| ToolOutput::Parts(vec![Part::Text(text.to_owned())]);
    Some(match call.answer.as_ref()? {
        Answer::Json(json) => returned(ToolOutput::Json(JsonText::parse(*json).unwrap()), ToolOutcome::Succeeded),
        Answer::Text(said) => returned(text(said), ToolOutcome::Succeeded),
        Answer::Failed(said) => returned(text(said), ToolOutcome::Failed),
        // Only calls that need approval can be denied.
        Answer::Denied if call.tool != GUARDED => returned(text("no"), ToolOutcome::Failed),
        Answer::Denied => denial_result(call_id, Denial { reason: None }),
    })
}

/// Results for the unanswered calls of a run.
pub fn late_answers(script: &Script, name: &str) -> Vec<ToolReturned> {
    let mut late = Vec::new();
    for (index, step) in script.steps.iter().enumerate() {
        for (place, call) in step.calls.iter().enumerate() {
            if call.answer.is_none() {
                late.push(ToolReturned {
                    call_id: call_id(&format!("{name}_{index}"), place),
                    tool_name: None,
                    output: ToolOutput::Json(JsonText::parse("[1]").unwrap()),
                    outcome: ToolOutcome::Succeeded,
                });
            }
        }
    }
    late
}

fn call_id(ids: &str, place: usize) -> CallId {
    CallId::parse(format!("c{ids}_{place}")).unwrap()
}
