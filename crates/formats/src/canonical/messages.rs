//! A context as a flat list of messages, for readers that take it apart themselves.
//!
//! A flat list of messages. An assistant's turn stands as one message with all its calls; the results follow it at once,
//! in the order of the calls, wherever in the conversation they came. So the list satisfies, before any provider's own
//! rules, that parallel calls stand in one message and that each result follows its call (O3, R1, A2, G3).

use context::{Call, Unit};
use domain::Version;
use domain::event::{MessageAppended, Role, ToolCalled, ToolReturned};

/// One message of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The version of its first event.
    pub version: Version,
    /// What it is.
    pub kind: MessageKind,
}

/// What a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageKind {
    /// Someone speaks.
    Turn(Turn),
    /// A tool's result; its call stands in the last turn before it.
    ToolResult(ToolReturned),
}

/// What one speaker says at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Who speaks.
    pub role: Role,
    /// What is said. None when the assistant only calls tools.
    pub message: Option<MessageAppended>,
    /// The tools that the assistant calls, in order; those without a result after it still wait.
    pub calls: Vec<ToolCalled>,
}

/// The messages of a context's units, in the order of the units.
pub fn messages(units: Vec<Unit>) -> impl Iterator<Item = Message> {
    units.into_iter().flat_map(messages_of)
}

fn messages_of(unit: Unit) -> impl Iterator<Item = Message> {
    let role = unit.role();
    let (calls, results): (Vec<_>, Vec<_>) = unit.calls.into_iter().map(apart).unzip();
    let turn = Message {
        version: unit.version,
        kind: MessageKind::Turn(Turn {
            role,
            message: unit.message,
            calls,
        }),
    };
    std::iter::once(turn).chain(results.into_iter().flatten())
}

fn apart(call: Call) -> (ToolCalled, Option<Message>) {
    let result = call.result.map(|result| Message {
        version: result.version,
        kind: MessageKind::ToolResult(result.returned),
    });
    (call.called, result)
}

#[cfg(test)]
mod tests {
    use context::CallResult;
    use domain::event::{ToolOutcome, ToolOutput};
    use domain::{CallId, EventTokens, JsonText, ToolName};

    use super::*;

    #[test]
    fn results_follow_their_turn_in_the_order_of_the_calls() {
        check(
            vec![call("a", 2, Some(9)), call("b", 3, Some(5))],
            "1[a b] 9:a 5:b",
        );
    }

    #[test]
    fn a_call_that_waits_stays_in_its_turn() {
        check(
            vec![call("a", 2, None), call("b", 3, Some(5))],
            "1[a b] 5:b",
        );
        check(vec![], "1[]");
    }

    fn check(calls: Vec<Call>, expected: &str) {
        let unit = Unit {
            version: Version(1),
            message: None,
            tokens: EventTokens::default(),
            calls,
        };
        let written: Vec<String> = messages(vec![unit])
            .map(|message| written(&message))
            .collect();
        assert_eq!(written.join(" "), expected);
    }

    fn written(message: &Message) -> String {
        match &message.kind {
            MessageKind::Turn(turn) => {
                let calls: Vec<&str> = turn
                    .calls
                    .iter()
                    .map(|call| call.call_id.as_str())
                    .collect();
                format!("{}[{}]", message.version, calls.join(" "))
            }
            MessageKind::ToolResult(result) => format!("{}:{}", message.version, result.call_id),
        }
    }

    fn call(id: &str, version: u64, answered: Option<u64>) -> Call {
        let call_id = CallId::parse(id).unwrap();
        let tool_name = ToolName::parse("search").unwrap();
        let result = answered.map(|version| CallResult {
            version: Version(version),
            tokens: EventTokens::default(),
            returned: ToolReturned {
                call_id: call_id.clone(),
                tool_name: Some(tool_name.clone()),
                output: ToolOutput::Json(JsonText::parse("1").unwrap()),
                outcome: ToolOutcome::Succeeded,
            },
        });
        let called = ToolCalled {
            call_id,
            tool_name,
            input: JsonText::parse("{}").unwrap(),
            model: None,
            provider: None,
            provider_response_id: None,
            signature: None,
        };
        Call {
            version: Version(version),
            called,
            tokens: EventTokens::default(),
            result,
        }
    }
}
