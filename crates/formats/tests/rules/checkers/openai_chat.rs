//! O: OpenAI chat completions. O7 requires nothing (roles need not alternate), so it has no checker.

use serde_json::Value;

use super::value::{has, is_safe_call_id, is_safe_tool_name, is_token, list, text, unknown};
use super::{Rule, Violations, pairing};

/// The rules, by id.
pub(super) const RULES: &[(&str, Rule)] =
    &[("O", form), ("O1", o1), ("O2", o2), ("O3", o3), ("O4", o4), ("O5", o5), ("O6", o6), ("safe", safe)];

/// The fields of a message.
const FIELDS: &[&str] = &["role", "content", "name", "tool_calls", "tool_call_id", "refusal"];
/// Maximum characters of a call id.
const CALL_ID_CHARS_MAX: usize = 40;
/// Maximum characters of a name.
const NAME_CHARS_MAX: usize = 64;

fn messages(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    let messages = list(body, "messages").iter().enumerate();
    messages.map(|(index, message)| (format!("messages[{index}]"), message))
}

fn calls(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    messages(body).flat_map(|(place, message)| {
        let calls = list(message, "tool_calls").iter().enumerate();
        calls.map(move |(index, call)| (format!("{place}.tool_calls[{index}]"), call))
    })
}

/// The types of parts that a role may have.
fn part_types(role: &str) -> Option<&'static [&'static str]> {
    match role {
        "user" => Some(&["text", "image_url", "input_audio", "file"]),
        "assistant" => Some(&["text", "refusal"]),
        "tool" | "system" | "developer" => Some(&["text"]),
        _ => None,
    }
}

fn form(body: &Value, broken: &mut Violations) {
    for (place, message) in messages(body) {
        let Some(types) = part_types(text(message, "role")) else {
            broken.at(&place, "has no known role");
            continue;
        };
        let unknown = unknown(message, FIELDS);
        broken.unless(unknown.is_empty(), &place, format!("has unknown fields {unknown:?}"));
        let content = message.get("content").unwrap_or(&Value::Null);
        let known = content.is_null() || content.is_string() || content.is_array();
        broken.unless(known, &place, "has a content that is neither text nor list");
        for part in list(message, "content") {
            let known = types.contains(&text(part, "type")) && is_part(part);
            broken.unless(known, &place, format!("has a part of another form: {part}"));
        }
    }
    for (place, call) in calls(body) {
        broken.unless(text(call, "type") == "function", place, "is no function call");
    }
}

fn is_part(part: &Value) -> bool {
    match text(part, "type") {
        "text" => part["text"].is_string(),
        "refusal" => part["refusal"].is_string(),
        "image_url" => !text(&part["image_url"], "url").is_empty(),
        "file" => ["file_id", "file_data"].iter().any(|field| !text(&part["file"], field).is_empty()),
        _ => true,
    }
}

/// At least one message; a content list has at least one part.
fn o1(body: &Value, broken: &mut Violations) {
    broken.unless(!list(body, "messages").is_empty(), "messages", "is empty");
    for (place, message) in messages(body) {
        let empty = message["content"].as_array().is_some_and(Vec::is_empty);
        broken.unless(!empty, place, "has an empty content list");
    }
}

/// An assistant message has content or calls; a list of calls is not empty.
fn o2(body: &Value, broken: &mut Violations) {
    for (place, message) in messages(body) {
        let called = has(message, "tool_calls");
        let none = called && list(message, "tool_calls").is_empty();
        broken.unless(!none, &place, "has an empty list of calls");
        let assistant = text(message, "role") == "assistant";
        let has_content = has(message, "content") && message["content"] != "";
        broken.unless(!assistant || called || has_content, &place, "has neither content nor calls");
    }
}

/// Results directly follow their calls; every result has a call; only the assistant has calls.
fn o3(body: &Value, broken: &mut Violations) {
    pairing::check_pairs(list(body, "messages"), broken);
    for (place, message) in messages(body) {
        let assistant = text(message, "role") == "assistant";
        broken.unless(assistant || !has(message, "tool_calls"), place, "calls, but is no assistant");
    }
}

/// Results and instructions are only text; arguments are JSON in a string.
fn o4(body: &Value, broken: &mut Violations) {
    for (place, message) in messages(body) {
        if matches!(text(message, "role"), "tool" | "system" | "developer") {
            let content = &message["content"];
            let texts = list(message, "content").iter().all(|part| text(part, "type") == "text");
            let text_only = content.is_string() || (content.is_array() && texts);
            broken.unless(text_only, place, "is not text only");
        }
    }
    for (place, call) in calls(body) {
        let arguments = call["function"]["arguments"].as_str();
        let json = arguments.is_some_and(|text| serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok());
        broken.unless(json, place, "has arguments that are no JSON in a string");
    }
}

/// A call id has 1 to 40 characters.
fn o5(body: &Value, broken: &mut Violations) {
    for (place, id) in ids(body) {
        let fits = (1..=CALL_ID_CHARS_MAX).contains(&id.chars().count());
        broken.unless(fits, place, "has a call id out of bounds");
    }
}

fn ids(body: &Value) -> impl Iterator<Item = (String, &str)> {
    let answered = messages(body)
        .filter(|(_, message)| text(message, "role") == "tool")
        .map(|(place, message)| (place, text(message, "tool_call_id")));
    calls(body).map(|(place, call)| (place, text(call, "id"))).chain(answered)
}

/// Names are within `[A-Za-z0-9_-]{1,64}`; all instructions of a request have one role.
fn o6(body: &Value, broken: &mut Violations) {
    for (place, call) in calls(body) {
        let named = is_token(text(&call["function"], "name"), NAME_CHARS_MAX, "_-");
        broken.unless(named, place, "names no function");
    }
    for (place, message) in messages(body).filter(|(_, message)| has(message, "name")) {
        let named = is_token(text(message, "name"), NAME_CHARS_MAX, "_-");
        broken.unless(named, place, "has a name out of form");
    }
    let speaks = |role: &str| messages(body).any(|(_, message)| text(message, "role") == role);
    let mixed = speaks("system") && speaks("developer");
    broken.unless(!mixed, "messages", "mixes system and developer");
}

fn safe(body: &Value, broken: &mut Violations) {
    for (place, id) in ids(body) {
        broken.unless(is_safe_call_id(id), place, "has a call id out of the safe set");
    }
    for (place, call) in calls(body) {
        let safe = is_safe_tool_name(text(&call["function"], "name"));
        broken.unless(safe, place, "has a name out of the safe set");
    }
}

#[cfg(test)]
#[path = "openai_chat_tests.rs"]
mod tests;
