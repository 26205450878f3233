//! The pairing of calls and results in OpenAI chat completions, which Ollama's templates also expect (O3, L3).

use serde_json::Value;

use super::Violations;
use super::value::{list, text};

/// One `tool` message per call directly follows each assistant message with calls. There are no other `tool` messages.
pub(super) fn check_pairs(messages: &[Value], broken: &mut Violations) {
    let mut rest = messages.iter().enumerate().peekable();
    while let Some((index, message)) = rest.next() {
        let place = format!("messages[{index}]");
        if text(message, "role") == "tool" {
            broken.at(&place, "answers no call of the turn before it");
            continue;
        }
        let mut open: Vec<&str> = Vec::new();
        for call in list(message, "tool_calls") {
            let id = text(call, "id");
            broken.unless(!open.contains(&id), &place, "calls twice with one id");
            open.push(id);
        }
        while !open.is_empty() {
            let Some((at, result)) = rest.next_if(|(_, message)| text(message, "role") == "tool") else {
                broken.at(&place, format!("has calls without a result: {open:?}"));
                break;
            };
            let id = text(result, "tool_call_id");
            match open.iter().position(|waiting| *waiting == id) {
                Some(found) => {
                    open.remove(found);
                }
                None => broken.at(format!("messages[{at}]"), format!("answers no open call: {id}")),
            }
        }
    }
}
