//! An export as messages of OpenAI's chat completions. Each turn is rendered as contexts are.

use std::collections::VecDeque;

use context::stages::repair::INTERRUPTED;
use context::{Answer, AnswerOrigin, AnsweredCall, Transcript, Turn, Written};
use domain::event::{MessageAppended, Role, ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
use domain::{Fact, Part, RecordedEvent, Version};
use formats::{Format, RenderOptions, Section, pieces};

/// Most turns that wait for the result of a call. Then the oldest one is written without it.
const WAITING_MAX: usize = 200;

/// Turns that are not written, because a call has no result yet or may follow.
#[derive(Debug, Default)]
pub(super) struct Messages {
    waiting: VecDeque<Turn>,
    /// The number of messages that are written.
    count: u64,
}

pub(super) fn start(chunk: &mut Vec<u8>) {
    chunk.extend_from_slice(b"{\"messages\":[");
}

impl Messages {
    /// Adds an event; writes the turns that are complete.
    pub(super) fn push(&mut self, recorded: RecordedEvent, chunk: &mut Vec<u8>) {
        let version = recorded.version;
        match recorded.event.fact {
            Fact::MessageAppended(message) => self.waiting.push_back(turn(version, message)),
            Fact::ToolCalled(call) => self.call(version, call),
            Fact::ToolReturned(result) => self.answer(version, result),
            Fact::Annotation(_) | Fact::Lifecycle(_) => {}
        }
        // A call may still follow the newest turn.
        while self.waiting.len() > 1
            && (self.waiting.len() > WAITING_MAX || self.waiting.front().is_some_and(is_complete))
        {
            self.write_oldest(chunk);
        }
    }

    /// Writes the remaining turns and the end of the document. `to`: the last version of the exported range.
    pub(super) fn end(&mut self, to: Version, chunk: &mut Vec<u8>) {
        while !self.waiting.is_empty() {
            self.write_oldest(chunk);
        }
        let end = format!("\n],\n\"count\":{},\n\"version\":{to}}}\n", self.count);
        chunk.extend_from_slice(end.as_bytes());
    }

    fn call(&mut self, version: Version, called: ToolCalled) {
        let call = AnsweredCall {
            version,
            called,
            answer: Answer {
                output: ToolOutput::Parts(vec![Part::Text(INTERRUPTED.to_owned())]),
                outcome: ToolOutcome::Failed,
                origin: AnswerOrigin::Interrupted,
            },
        };
        match self.waiting.back_mut() {
            Some(last) if last.role == Role::Assistant => last.calls.push(call),
            _ => {
                let message = MessageAppended::new(Role::Assistant, Vec::new());
                let mut turn = turn(version, message);
                turn.calls.push(call);
                self.waiting.push_back(turn);
            }
        }
    }

    /// The result of the newest call with this id. A result whose call is written already is left out.
    fn answer(&mut self, version: Version, result: ToolReturned) {
        let mut calls = self.waiting.iter_mut().rev().flat_map(|turn| turn.calls.iter_mut().rev());
        let call = calls.find(|call| call.called.call_id == result.call_id && !has_result(call));
        if let Some(call) = call {
            call.answer =
                Answer { output: result.output, outcome: result.outcome, origin: AnswerOrigin::Recorded(version) };
        }
    }

    fn write_oldest(&mut self, chunk: &mut Vec<u8>) {
        let transcript = Transcript { turns: self.waiting.pop_front().into_iter().collect(), ..Transcript::default() };
        let options = RenderOptions::default();
        let rendered = formats::render(Format::OpenAiChat, &transcript, &options);
        for piece in pieces(&rendered.body, &rendered.outline) {
            // A turn without content has no message; the format adds one to an empty list.
            if let (Section::Turn(_), Some(message)) = (piece.section, rendered.body.get(piece.range)) {
                let separator: &[u8] = if self.count == 0 { b"\n" } else { b",\n" };
                chunk.extend_from_slice(separator);
                chunk.extend_from_slice(message);
                self.count += 1;
            }
        }
    }
}

fn has_result(call: &AnsweredCall) -> bool {
    call.answer.origin.result().is_some()
}

fn is_complete(turn: &Turn) -> bool {
    turn.calls.iter().all(has_result)
}

fn turn(version: Version, message: MessageAppended) -> Turn {
    Turn {
        version,
        role: message.role,
        parts: message.parts,
        author: message.author,
        provider: message.provider,
        written: Written::default(),
        calls: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use domain::{CallId, CommitId, Event, EventId, EventTokens, JsonText, Timestamp, ToolName};
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;

    fn said(role: Role, text: &str) -> Fact {
        Fact::MessageAppended(MessageAppended::new(role, vec![Part::Text(text.to_owned())]))
    }

    fn called(id: &str) -> Fact {
        Fact::ToolCalled(ToolCalled::new(
            CallId::parse(id).unwrap(),
            ToolName::parse("search").unwrap(),
            JsonText::parse("{}").unwrap(),
        ))
    }

    fn returned(id: &str, output: &str) -> Fact {
        Fact::ToolReturned(ToolReturned {
            call_id: CallId::parse(id).unwrap(),
            tool_name: None,
            output: ToolOutput::Parts(vec![Part::Text(output.to_owned())]),
            outcome: ToolOutcome::Succeeded,
        })
    }

    fn exported(facts: impl IntoIterator<Item = Fact>) -> Value {
        let (mut messages, mut chunk) = (Messages::default(), Vec::new());
        start(&mut chunk);
        let mut version = Version::ZERO;
        for fact in facts {
            version = version.next();
            let event = Event {
                id: EventId::derived(CommitId(Uuid::nil()), 0),
                occurred_at: None,
                metadata: None,
                tokens: EventTokens::default(),
                fact,
            };
            let recorded = RecordedEvent { version, commit: CommitId(Uuid::nil()), recorded_at: Timestamp(0), event };
            messages.push(recorded, &mut chunk);
        }
        messages.end(version, &mut chunk);
        serde_json::from_slice(&chunk).unwrap()
    }

    fn roles(exported: &Value) -> Vec<&str> {
        let messages = exported["messages"].as_array().unwrap().iter();
        messages.map(|message| message["role"].as_str().unwrap()).collect()
    }

    #[test]
    fn results_follow_their_call_also_if_they_were_late() {
        let exported = exported([
            said(Role::User, "Hi"),
            said(Role::Assistant, "One moment."),
            called("a"),
            said(Role::User, "Well?"),
            returned("a", "found"),
            said(Role::Assistant, "Here."),
        ]);
        let expected = ["user", "assistant", "tool", "user", "assistant"];
        assert_eq!(roles(&exported), expected);
        assert_eq!(exported["messages"][1]["tool_calls"][0]["id"], "a");
        assert_eq!(exported["messages"][2]["content"], "found");
        assert_eq!((&exported["count"], &exported["version"]), (&json!(5), &json!(6)));
    }

    #[test]
    fn a_missing_result_is_noted_after_a_bound() {
        let empty = exported([]);
        assert_eq!((roles(&empty), &empty["count"]), (vec![], &json!(0)));
        let many = (0..WAITING_MAX).map(|_| said(Role::User, "Hi"));
        let late = exported(std::iter::once(called("a")).chain(many).chain([returned("a", "late")]));
        assert_eq!(late["messages"][1]["content"], format!("Error: {INTERRUPTED}"));
    }
}
