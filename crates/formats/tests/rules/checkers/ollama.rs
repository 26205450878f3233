//! L: Ollama's `/api/chat`.

use serde_json::Value;

use super::value::{has, is_blank, is_safe_call_id, is_safe_tool_name, list, text, unknown};
use super::{Rule, Violations, pairing};

/// The rules, by id.
pub(super) const RULES: &[(&str, Rule)] =
    &[("L", form), ("L1", l1), ("L2", l2), ("L3", l3), ("L4", l4), ("L5", l5), ("L6", l6), ("safe", safe)];

/// The fields of a message.
const FIELDS: &[&str] = &["role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id"];

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

fn results(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    messages(body).filter(|(_, message)| text(message, "role") == "tool")
}

/// Messages have known fields; only the assistant has thoughts and calls; no assistant message is empty.
fn form(body: &Value, broken: &mut Violations) {
    for (place, message) in messages(body) {
        let unknown = unknown(message, FIELDS);
        broken.unless(unknown.is_empty(), &place, format!("has unknown fields {unknown:?}"));
        let assistant = text(message, "role") == "assistant";
        let own = has(message, "thinking") || has(message, "tool_calls");
        broken.unless(assistant || !own, &place, "thinks or calls, but is no assistant");
        let empty = message["tool_calls"].as_array().is_some_and(Vec::is_empty);
        broken.unless(!empty, &place, "has an empty list of calls");
        let holds = message["content"] != "" || own || has(message, "images");
        broken.unless(!assistant || holds, place, "is an assistant's and holds nothing");
    }
}

/// Roles are known; content is a string; images are separate, in base64.
fn l1(body: &Value, broken: &mut Violations) {
    broken.unless(!list(body, "messages").is_empty(), "messages", "is empty");
    for (place, message) in messages(body) {
        let known = matches!(text(message, "role"), "system" | "user" | "assistant" | "tool");
        broken.unless(known, &place, "has no known role");
        broken.unless(message["content"].is_string(), &place, "has a content that is no string");
        let encoded = |image: &Value| image.as_str().is_some_and(is_base64);
        let images = list(message, "images").iter().all(encoded);
        broken.unless(images, place, "has a picture that is no base64");
    }
}

fn is_base64(text: &str) -> bool {
    let data = text.trim_end_matches('=');
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '/';
    !data.is_empty() && data.chars().all(allowed)
}

/// Arguments are an object; a result names its tool and its call.
fn l2(body: &Value, broken: &mut Violations) {
    for (place, call) in calls(body) {
        let object = call["function"]["arguments"].is_object();
        broken.unless(object, &place, "has arguments that are no object");
        broken.unless(!text(&call["function"], "name").is_empty(), place, "names no tool");
    }
    for (place, result) in results(body) {
        let id = text(result, "tool_call_id");
        let mut calls = calls(body).map(|(_, call)| call);
        let call = calls.find(|call| text(call, "id") == id);
        let name = call.map(|call| text(&call["function"], "name"));
        broken.unless(!id.is_empty(), &place, "names no call");
        broken.unless(name == Some(text(result, "tool_name")), place, "does not name its call's tool");
    }
}

/// Calls and results are paired as in O3.
fn l3(body: &Value, broken: &mut Violations) {
    pairing::check_pairs(list(body, "messages"), broken);
}

/// The first message is the system's and not empty. Otherwise the server inserts the template's.
fn l4(body: &Value, broken: &mut Violations) {
    let first = list(body, "messages").first();
    let system = first.is_some_and(|message| text(message, "role") == "system" && !is_blank(text(message, "content")));
    broken.unless(system, "messages", "does not begin with the system");
}

/// Truncation is off, and the size of the context window is set.
fn l5(body: &Value, broken: &mut Violations) {
    broken.unless(body["truncate"] == false, "truncate", "is not false");
    let tokens = body["options"]["num_ctx"].as_u64();
    broken.unless(tokens.is_some_and(|tokens| tokens > 0), "options.num_ctx", "is not set");
}

/// `think` is not set: the caller sets it.
fn l6(body: &Value, broken: &mut Violations) {
    broken.unless(!has(body, "think"), "think", "is set");
}

fn safe(body: &Value, broken: &mut Violations) {
    for (place, call) in calls(body) {
        broken.unless(is_safe_call_id(text(call, "id")), &place, "has an id out of the safe set");
        let safe = is_safe_tool_name(text(&call["function"], "name"));
        broken.unless(safe, place, "has a name out of the safe set");
    }
    for (place, result) in results(body) {
        broken.unless(is_safe_call_id(text(result, "tool_call_id")), &place, "has an id out of the safe set");
        broken.unless(is_safe_tool_name(text(result, "tool_name")), place, "has a name out of the safe set");
    }
}

#[cfg(test)]
#[path = "ollama_tests.rs"]
mod tests;
