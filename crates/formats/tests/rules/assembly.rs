//! Builds a transcript from facts, like the stages, so that a parsed history can be rendered in another format.

use context::{Answer, AnswerOrigin, AnsweredCall, Transcript, Turn};
use domain::event::{Role, ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
use domain::{Fact, JsonText, Part, Version};

/// The transcript of facts: leading instructions, then turns with their calls and results.
pub(crate) fn assembled(facts: Vec<Fact>) -> Transcript {
    let mut transcript = Transcript::default();
    for (version, fact) in (1..).map(Version).zip(facts) {
        match fact {
            Fact::MessageAppended(message) => {
                let instructs = matches!(message.role, Role::System | Role::Developer) && transcript.turns.is_empty();
                if instructs {
                    let texts = message.parts.into_iter().filter_map(|part| match part {
                        Part::Text(text) if !text.trim().is_empty() => Some(text),
                        _ => None,
                    });
                    transcript.instructions.extend(texts);
                    continue;
                }
                transcript.turns.push(Turn {
                    provider: message.provider,
                    author: message.author,
                    ..turn(version, message.role, message.parts)
                });
            }
            Fact::ToolCalled(called) => call(&mut transcript.turns, version, called),
            Fact::ToolReturned(returned) => answer(&mut transcript.turns, version, returned),
            other => panic!("a history has no {:?}", other.kind()),
        }
    }
    transcript
}

fn turn(version: Version, role: Role, parts: Vec<Part>) -> Turn {
    Turn {
        version,
        role,
        parts,
        author: None,
        provider: None,
        written: context::Written::BehindThis,
        calls: Vec::new(),
    }
}

fn call(turns: &mut Vec<Turn>, version: Version, called: ToolCalled) {
    let open = |call: &AnsweredCall| call.answer.origin == AnswerOrigin::Interrupted;
    let joins = turns.last().is_some_and(|turn| turn.role == Role::Assistant && turn.calls.iter().all(open));
    if !joins {
        turns.push(turn(version, Role::Assistant, Vec::new()));
    }
    let answer = Answer {
        output: ToolOutput::Json(JsonText::recorded("null".to_owned())),
        outcome: ToolOutcome::Failed,
        origin: AnswerOrigin::Interrupted,
    };
    turns.last_mut().unwrap().calls.push(AnsweredCall { version, called, answer });
}

fn answer(turns: &mut [Turn], version: Version, returned: ToolReturned) {
    let calls = turns.iter_mut().flat_map(|turn| &mut turn.calls).rev();
    let mut waiting = calls.filter(|call| call.called.call_id == returned.call_id);
    waiting.next().unwrap().answer =
        Answer { output: returned.output, outcome: returned.outcome, origin: AnswerOrigin::Recorded(version) };
}
