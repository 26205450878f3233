//! What a model reads, as text.

use std::fmt::Write as _;

use serde_json::Value;

use crate::printable::line;

/// Most characters of a message that are shown.
const MESSAGE_CHARS_MAX: usize = 200;
/// Most characters of a role.
const ROLE_CHARS_MAX: usize = 9;
/// The sections of a context, as its receipt names them.
const SECTIONS: [&str; 4] = ["instructions", "opening", "turns", "closing"];

/// A line for each message of a context for `openai-chat`, and its tokens by section.
pub(super) fn text(context: &Value) -> String {
    let mut text = String::new();
    let messages = context.pointer("/body/messages").and_then(Value::as_array);
    for message in messages.into_iter().flatten() {
        let role = line(message.get("role").and_then(Value::as_str).unwrap_or_default(), ROLE_CHARS_MAX);
        let words = line(&content_of(message), MESSAGE_CHARS_MAX);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {role:>ROLE_CHARS_MAX$}  {words}");
    }
    let total: u64 = SECTIONS.iter().map(|section| tokens(context, section)).sum();
    let by_section = SECTIONS.map(|section| format!("{} {section}", tokens(context, section)));
    let (by_section, room) = (by_section.join(", "), tokens(context, "room"));
    let _ = writeln!(text, "  ({total} tokens: {by_section}; room for {room} of turns)");
    text
}

/// The content of a message, and its calls of tools.
fn content_of(message: &Value) -> String {
    let content = match message.get("content") {
        Some(Value::String(content)) => content.clone(),
        Some(Value::Null) | None => String::new(),
        Some(parts) => parts.to_string(),
    };
    match message.get("tool_calls") {
        Some(calls) => format!("{content} -> {calls}"),
        None => content,
    }
}

/// The tokens of a section. The JSON of a receipt has large numbers as text.
fn tokens(context: &Value, section: &str) -> u64 {
    match context.pointer(&format!("/receipt/tokens/{section}")) {
        Some(Value::String(count)) => count.parse().unwrap_or(0),
        Some(count) => count.as_u64().unwrap_or(0),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_context_has_its_messages_and_tokens() {
        let context = json!({
            "body": {"messages": [
                {"role": "system", "content": "Be\nkind."},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "c"}]},
                {"role": "user", "content": "\u{1b}[2J"},
            ]},
            "receipt": {"tokens": {"instructions": "3", "turns": 4, "room": "100"}},
        });
        let expected = "     system  Be kind.\n  \
             assistant  -> [{\"id\":\"c\"}]\n       \
             user  \\u001b[2J\n  \
             (7 tokens: 3 instructions, 0 opening, 4 turns, 0 closing; room for 100 of turns)\n";
        assert_eq!(text(&context), expected);
    }
}
