//! A context as a flat list of messages, for gRPC readers.
//!
//! An assistant turn is one message with all its calls. The results follow it directly, in the order of the calls, wherever
//! they were recorded. So parallel calls are in one message and results follow their calls, as providers require (O3, R1,
//! A2, G3).

use context::{Call, Unit};
use domain::Version;
use domain::event::{MessageAppended, Role, ToolCalled, ToolReturned};

/// One message of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The version of its first event.
    pub version: Version,
    /// The kind of the message.
    pub kind: MessageKind,
}

/// The kind of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageKind {
    /// A turn of a user, an assistant, a system or a developer.
    Turn(Turn),
    /// The result of a tool. Its call is in the last turn before it.
    ToolResult(ToolReturned),
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The role.
    pub role: Role,
    /// The message; `None` if the assistant only calls tools.
    pub message: Option<MessageAppended>,
    /// The calls, in order. Calls without a result are pending.
    pub calls: Vec<ToolCalled>,
}

/// The messages of a context's units, in the order of the units.
pub fn messages(units: Vec<Unit>) -> impl Iterator<Item = Message> {
    units.into_iter().flat_map(unit_messages)
}

fn unit_messages(unit: Unit) -> impl Iterator<Item = Message> {
    let role = unit.role();
    let calls = unit.calls.into_iter().map(call_and_result);
    let (calls, results): (Vec<_>, Vec<_>) = calls.unzip();
    let turn = Message { version: unit.version, kind: MessageKind::Turn(Turn { role, message: unit.message, calls }) };
    std::iter::once(turn).chain(results.into_iter().flatten())
}

fn call_and_result(call: Call) -> (ToolCalled, Option<Message>) {
    let result =
        call.result.map(|result| Message { version: result.version, kind: MessageKind::ToolResult(result.returned) });
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
        check(vec![call("a", 2, Some(9)), call("b", 3, Some(5))], "1[a b] 9:a 5:b");
    }

    #[test]
    fn a_pending_call_is_in_its_turn() {
        check(vec![call("a", 2, None), call("b", 3, Some(5))], "1[a b] 5:b");
        check(vec![], "1[]");
    }

    fn check(calls: Vec<Call>, expected: &str) {
        let unit = Unit { version: Version(1), message: None, tokens: EventTokens::default(), calls };
        let written: Vec<String> = messages(vec![unit]).map(|message| written(&message)).collect();
        assert_eq!(written.join(" "), expected);
    }

    fn written(message: &Message) -> String {
        match &message.kind {
            MessageKind::Turn(turn) => {
                let calls: Vec<&str> = turn.calls.iter().map(|call| call.call_id.as_str()).collect();
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
        Call { version: Version(version), called, tokens: EventTokens::default(), result }
    }
}
