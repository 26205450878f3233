//! Folds the chunks of an answer's stream into what a terminal shows.

use serde_json::Value;

/// Most calls of an answer that are remembered until they return.
const CALLS_MAX: usize = 1_024;

/// What a chunk adds to the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// More of the text.
    Text(String),
    /// The text ends; another may follow.
    TextEnded,
    /// A call of a tool.
    Called(Call),
    /// The result of a call: the tool, and `returned`, `failed` or `was refused`.
    Returned(String, &'static str),
    /// The run has ended.
    Ended(Outcome),
}

/// How an answer has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The answer is complete.
    Completed,
    /// It was stopped; what had arrived is kept.
    Stopped,
    /// Ctrl-C ended the wait for it; its run may continue.
    Detached,
    /// It failed: why.
    Failed(String),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) tool: String,
    /// The input as JSON.
    pub(super) input: String,
    /// Whether a person must approve it.
    pub(super) needs_approval: bool,
}

/// The state of an answer.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Calls without a result.
    open: Vec<Call>,
}

impl Answer {
    /// The rest of an answer, after these calls were approved.
    pub(super) fn after(approved: Vec<Call>) -> Self {
        Self { open: approved }
    }

    /// The next chunk.
    pub(super) fn push(&mut self, chunk: &Value) -> Option<Piece> {
        let text = |member: &str| chunk.get(member).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text-delta" => Some(Piece::Text(text("delta").to_owned())),
            "text-end" => Some(Piece::TextEnded),
            "tool-input-available" => Some(self.called(Call {
                id: text("toolCallId").to_owned(),
                tool: text("toolName").to_owned(),
                input: chunk.get("input").map(Value::to_string).unwrap_or_default(),
                needs_approval: false,
            })),
            "tool-approval-request" => {
                let id = text("toolCallId");
                let call = self.open.iter_mut().find(|call| call.id == id)?;
                call.needs_approval = true;
                None
            }
            "tool-output-available" => self.returned(text("toolCallId"), "returned"),
            "tool-output-error" => self.returned(text("toolCallId"), "failed"),
            "tool-output-denied" => self.returned(text("toolCallId"), "was refused"),
            "message-metadata" => outcome(chunk.get("messageMetadata")?).map(Piece::Ended),
            _ => None,
        }
    }

    /// The calls that wait for a decision or a result.
    pub(super) fn waiting(&self) -> &[Call] {
        &self.open
    }

    fn called(&mut self, call: Call) -> Piece {
        if self.open.len() < CALLS_MAX && self.open.iter().all(|open| open.id != call.id) {
            self.open.push(call.clone());
        }
        Piece::Called(call)
    }

    fn returned(&mut self, id: &str, how: &'static str) -> Option<Piece> {
        let index = self.open.iter().position(|call| call.id == id)?;
        Some(Piece::Returned(self.open.remove(index).tool, how))
    }
}

/// The outcome in a message's metadata.
pub(super) fn outcome(metadata: &Value) -> Option<Outcome> {
    match metadata.get("outcome")?.as_str()? {
        "completed" => Some(Outcome::Completed),
        "stopped" => Some(Outcome::Stopped),
        _ => {
            let text = metadata.get("errorText").and_then(Value::as_str).unwrap_or("The answer was interrupted.");
            Some(Outcome::Failed(text.to_owned()))
        }
    }
}

/// The calls of recorded messages that wait for a person's decision.
pub(super) fn undecided(messages: &[Value]) -> Vec<Call> {
    let parts = messages.iter().filter_map(|message| message.get("parts")?.as_array());
    let calls = parts.flatten().filter_map(recorded_call);
    let undecided = calls.filter(|(_, state)| state == "approval-requested");
    undecided.map(|(call, _)| call).take(CALLS_MAX).collect()
}

/// The call of a part of a recorded message, and its state; `None` for another part.
pub(super) fn recorded_call(part: &Value) -> Option<(Call, String)> {
    let text = |member: &str| part.get(member).and_then(Value::as_str);
    let state = text("state")?;
    let call = Call {
        id: text("toolCallId")?.to_owned(),
        tool: text("type")?.strip_prefix("tool-")?.to_owned(),
        input: part.get("input").map(Value::to_string).unwrap_or_default(),
        needs_approval: state == "approval-requested",
    };
    Some((call, state.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str, needs_approval: bool) -> Call {
        Call { id: id.to_owned(), tool: "search".to_owned(), input: r#"{"q":1}"#.to_owned(), needs_approval }
    }

    fn available(id: &str) -> Value {
        json!({"type": "tool-input-available", "toolCallId": id, "toolName": "search", "input": {"q": 1}})
    }

    #[test]
    fn chunks_are_folded() {
        let mut answer = Answer::default();
        let mut check = |chunk: Value, expected: Option<Piece>| {
            assert_eq!(answer.push(&chunk), expected, "{chunk}");
            answer.waiting().to_vec()
        };
        let text = Piece::Text("a".to_owned());
        check(json!({"type": "text-delta", "id": "p", "delta": "a"}), Some(text));
        check(json!({"type": "text-end", "id": "p"}), Some(Piece::TextEnded));
        check(json!({"type": "start"}), None);
        check(json!([]), None);
        check(available("c"), Some(Piece::Called(call("c", false))));
        let waiting = check(json!({"type": "tool-approval-request", "toolCallId": "c"}), None);
        assert_eq!(waiting, [call("c", true)]);
        let result = json!({"type": "tool-output-denied", "toolCallId": "c"});
        let waiting = check(result.clone(), Some(Piece::Returned("search".to_owned(), "was refused")));
        assert_eq!(waiting, []);
        check(result, None);
        let ended = |outcome: &str| json!({"type": "message-metadata", "messageMetadata": {"outcome": outcome}});
        check(ended("completed"), Some(Piece::Ended(Outcome::Completed)));
        check(ended("stopped"), Some(Piece::Ended(Outcome::Stopped)));
        let failed = Outcome::Failed("The answer was interrupted.".to_owned());
        check(ended("abandoned"), Some(Piece::Ended(failed)));
    }

    #[test]
    fn open_calls_have_a_bound() {
        let mut answer = Answer::default();
        for index in 0..=CALLS_MAX {
            answer.push(&available(&index.to_string()));
        }
        answer.push(&available("0"));
        assert_eq!(answer.waiting().len(), CALLS_MAX);
    }

    #[test]
    fn undecided_calls_are_found_in_messages() {
        let part =
            |id: &str, state: &str| json!({"type": "tool-search", "toolCallId": id, "state": state, "input": {"q": 1}});
        let messages = [
            json!({"role": "user", "parts": [{"type": "text", "text": "a"}]}),
            json!({"role": "assistant", "parts": [part("a", "approval-requested"), part("b", "output-available")]}),
        ];
        assert_eq!(undecided(&messages), [call("a", true)]);
    }
}
