//! Builders of transcripts.

use context::{Answer, AnswerOrigin, AnsweredCall, Transcript, Turn};
use domain::event::{Role, ToolCalled, ToolOutcome, ToolOutput};
use domain::{CallId, JsonText, Label, Part, ToolName, Version};

/// The turns with versions from 1: each turn, its calls, then their results; and one instruction.
pub(super) fn transcript(turns: Vec<Turn>) -> Transcript {
    let mut versions = (1..).map(Version);
    let mut next = || versions.next().unwrap();
    let mut turns = turns;
    for turn in &mut turns {
        turn.version = next();
        turn.calls.iter_mut().for_each(|call| call.version = next());
        for call in &mut turn.calls {
            match &mut call.answer.origin {
                AnswerOrigin::Recorded(version) | AnswerOrigin::Cleared(version) => {
                    *version = next();
                }
                AnswerOrigin::Pending | AnswerOrigin::Interrupted => {}
            }
        }
    }
    Transcript { instructions: vec!["You help with travel plans.".to_owned()], opening: None, turns, closing: None }
}

pub(super) fn turn(role: Role, parts: Vec<Part>) -> Turn {
    Turn {
        version: Version(1),
        role,
        parts,
        author: None,
        provider: None,
        written: context::Written::BehindThis,
        calls: Vec::new(),
    }
}

pub(super) fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

pub(super) fn user(said: &str) -> Turn {
    turn(Role::User, vec![text(said)])
}

pub(super) fn assistant(said: &str) -> Turn {
    turn(Role::Assistant, vec![text(said)])
}

pub(super) fn calls(turn: Turn, calls: Vec<AnsweredCall>) -> Turn {
    Turn { calls, ..turn }
}

pub(super) fn by(provider: &str, turn: Turn) -> Turn {
    let provider = Label::parse(provider).ok();
    let mut turn = turn;
    turn.provider.clone_from(&provider);
    turn.calls.iter_mut().for_each(|call| call.called.provider.clone_from(&provider));
    turn
}

pub(super) fn call(id: &str, name: &str, input: &str, output: &str) -> AnsweredCall {
    AnsweredCall {
        version: Version(1),
        called: ToolCalled {
            call_id: CallId::parse(id).unwrap(),
            tool_name: ToolName::parse(name).unwrap(),
            input: JsonText::parse(input).unwrap(),
            model: None,
            provider: None,
            provider_response_id: None,
            signature: None,
        },
        answer: Answer {
            output: ToolOutput::Json(JsonText::parse(output).unwrap()),
            outcome: ToolOutcome::Succeeded,
            origin: AnswerOrigin::Recorded(Version(1)),
        },
    }
}

pub(super) fn answered(call: AnsweredCall, said: &str, origin: AnswerOrigin, outcome: ToolOutcome) -> AnsweredCall {
    let answer = Answer { output: ToolOutput::Parts(vec![text(said)]), outcome, origin };
    AnsweredCall { answer, ..call }
}

pub(super) fn weather(id: &str, city: &str, degrees: &str) -> AnsweredCall {
    call(id, "weather", &format!("{{\"city\":\"{city}\"}}"), degrees)
}
