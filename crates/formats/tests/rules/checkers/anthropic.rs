//! A: Anthropic messages. A7 compares two requests; the properties check it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::value::{has, is_blank, is_safe_call_id, is_safe_tool_name, is_token, list, text};
use super::{Rule, Violations};

/// The rules, by id.
pub(super) const RULES: &[(&str, Rule)] = &[
    ("A", form),
    ("A1", a1),
    ("A2", a2),
    ("A3", a3),
    ("A4", a4),
    ("A5", a5),
    ("A6", a6),
    ("A8", a8),
    ("A9", a9),
    ("safe", safe),
];

/// Maximum number of cache breakpoints in a request.
const BREAKPOINTS_MAX: usize = 4;
/// Maximum characters of a tool name.
const NAME_CHARS_MAX: usize = 64;
/// Media types of images in base64.
const IMAGE_TYPES: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp"];

fn messages(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    let messages = list(body, "messages").iter().enumerate();
    messages.map(|(index, message)| (format!("messages[{index}]"), message))
}

fn blocks(body: &Value) -> impl Iterator<Item = (String, &str, &Value)> {
    messages(body).flat_map(|(place, message)| {
        let blocks = list(message, "content").iter().enumerate();
        let role = text(message, "role");
        blocks.map(move |(index, block)| (format!("{place}.content[{index}]"), role, block))
    })
}

fn with_type<'a>(body: &'a Value, wanted: &'a str) -> impl Iterator<Item = (String, &'a Value)> {
    blocks(body).filter(move |(_, _, block)| text(block, "type") == wanted).map(|(place, _, block)| (place, block))
}

fn is_thinking(block: &Value) -> bool {
    matches!(text(block, "type"), "thinking" | "redacted_thinking")
}

/// Blocks are known and allowed in their role; breakpoints are within their bound, and none is on a thought.
fn form(body: &Value, broken: &mut Violations) {
    for (place, message) in messages(body) {
        let content = &message["content"];
        broken.unless(content.is_string() || content.is_array(), place, "has no content");
    }
    let mut breakpoints = 0;
    for block in list(body, "system") {
        broken.unless(text(block, "type") == "text" && block["text"].is_string(), "system", "is not text");
        breakpoints += usize::from(has(block, "cache_control"));
    }
    for (place, role, block) in blocks(body) {
        broken.unless(is_block(role, block), &place, format!("is no block of the {role}'s"));
        let marked = has(block, "cache_control");
        broken.unless(!marked || !is_thinking(block), place, "is a thought with a breakpoint");
        breakpoints += usize::from(marked);
    }
    broken.unless(breakpoints <= BREAKPOINTS_MAX, "body", "has too many breakpoints");
}

fn is_block(role: &str, block: &Value) -> bool {
    let user = role == "user";
    match text(block, "type") {
        "text" => block["text"].is_string(),
        "image" => user && is_image(&block["source"]),
        "document" => user && block["source"].is_object(),
        "tool_result" => user && is_result(block),
        "tool_use" => !user && block["name"].is_string(),
        "thinking" => !user && block["thinking"].is_string(),
        "redacted_thinking" => !user && block["data"].is_string(),
        "server_tool_use" | "web_search_tool_result" => !user,
        _ => false,
    }
}

fn is_image(source: &Value) -> bool {
    match text(source, "type") {
        "base64" => IMAGE_TYPES.contains(&text(source, "media_type")) && !text(source, "data").is_empty(),
        "url" => !text(source, "url").is_empty(),
        "file" => !text(source, "file_id").is_empty(),
        _ => false,
    }
}

fn is_result(block: &Value) -> bool {
    let mut nested = list(block, "content").iter();
    nested.all(|block| matches!(text(block, "type"), "text" | "image" | "document") && is_block("user", block))
}

/// System is top-level, roles alternate, and the user is first.
fn a1(body: &Value, broken: &mut Violations) {
    let mut before = "assistant";
    for (place, message) in messages(body) {
        let role = text(message, "role");
        broken.unless(matches!(role, "user" | "assistant"), &place, "has another role");
        broken.unless(role != before, place, "does not alternate");
        before = role;
    }
    broken.unless(!list(body, "messages").is_empty(), "messages", "is empty");
}

/// The results of the calls of a turn are first in the next message, each once; there are no other results.
fn a2(body: &Value, broken: &mut Violations) {
    let mut open: Vec<&str> = Vec::new();
    for (place, message) in messages(body) {
        let content = list(message, "content");
        let is_result = |block: &&Value| text(block, "type") == "tool_result";
        let (first, rest) = content.split_at(content.iter().take_while(is_result).count());
        for result in first {
            let id = text(result, "tool_use_id");
            broken.unless(open.contains(&id), &place, "has the result of no call before it");
            open.retain(|waiting| *waiting != id);
        }
        broken.unless(!rest.iter().any(|block| is_result(&block)), &place, "has a result after other blocks");
        broken.unless(open.is_empty(), &place, "leaves the calls before it without results");
        open =
            content.iter().filter(|block| text(block, "type") == "tool_use").map(|block| text(block, "id")).collect();
    }
    broken.unless(open.is_empty(), "messages", "ends before the results are there");
}

/// Calls have unique ids and objects as input, and are last in their turn.
fn a3(body: &Value, broken: &mut Violations) {
    let mut ids = BTreeSet::new();
    for (place, block) in with_type(body, "tool_use") {
        let id = text(block, "id");
        broken.unless(is_token(id, usize::MAX, "_-"), &place, "has an id out of form");
        broken.unless(ids.insert(id), &place, "has an id that was used before");
        broken.unless(block["input"].is_object(), place, "has an input that is no object");
    }
    for (place, message) in messages(body) {
        let content = list(message, "content").iter();
        let mut after = content.skip_while(|block| text(block, "type") != "tool_use");
        let last = after.all(|block| text(block, "type") == "tool_use");
        broken.unless(last, place, "has blocks after its calls");
    }
}

/// No text is blank, no content is empty. A result may be empty.
fn a4(body: &Value, broken: &mut Violations) {
    for (place, message) in messages(body) {
        let content = &message["content"];
        let empty = content.as_array().is_some_and(Vec::is_empty) || content.as_str().is_some_and(is_blank);
        broken.unless(!empty, place, "is empty");
    }
    let results = with_type(body, "tool_result");
    let nested =
        results.flat_map(|(place, block)| list(block, "content").iter().map(move |block| (place.clone(), block)));
    let system = list(body, "system").iter().map(|block| ("system".to_owned(), block));
    let own = blocks(body).map(|(place, _, block)| (place, block));
    for (place, block) in own.chain(nested).chain(system) {
        let blank = text(block, "type") == "text" && is_blank(text(block, "text"));
        broken.unless(!blank, place, "is blank");
    }
    let blank = body["system"].as_str().is_some_and(is_blank);
    broken.unless(!blank, "system", "is blank");
}

/// Thoughts are signed; a message with thoughts starts with one and does not end with one.
fn a5(body: &Value, broken: &mut Violations) {
    for (place, block) in with_type(body, "thinking") {
        broken.unless(!text(block, "signature").is_empty(), place, "is not signed");
    }
    for (place, block) in with_type(body, "redacted_thinking") {
        broken.unless(!text(block, "data").is_empty(), place, "is empty");
    }
    for (place, message) in messages(body) {
        let content = list(message, "content");
        if content.iter().any(is_thinking) {
            broken.unless(content.first().is_some_and(is_thinking), &place, "has thoughts and does not begin with one");
            broken.unless(!content.last().is_some_and(is_thinking), &place, "ends with a thought");
        }
    }
}

/// The list ends with the user.
fn a6(body: &Value, broken: &mut Violations) {
    let last = list(body, "messages").last();
    let user = last.is_some_and(|message| text(message, "role") == "user");
    broken.unless(user, "messages", "does not end with the user");
}

/// A tool's name is within `[A-Za-z0-9_-]{1,64}`.
fn a8(body: &Value, broken: &mut Violations) {
    for (place, block) in with_type(body, "tool_use") {
        let named = is_token(text(block, "name"), NAME_CHARS_MAX, "_-");
        broken.unless(named, place, "has a name out of form");
    }
}

/// A9: a result with `is_error` contains only texts, at least one.
fn a9(body: &Value, broken: &mut Violations) {
    let failed = with_type(body, "tool_result").filter(|(_, block)| block["is_error"] == true);
    for (place, block) in failed {
        let blocks = list(block, "content");
        let says = block["content"].as_str().is_some_and(|content| !is_blank(content));
        broken.unless(says || !blocks.is_empty(), &place, "failed and says nothing");
        let texts = blocks.iter().all(|block| text(block, "type") == "text");
        broken.unless(texts, place, "failed and holds more than text");
    }
}

fn safe(body: &Value, broken: &mut Violations) {
    for (place, block) in with_type(body, "tool_use") {
        broken.unless(is_safe_call_id(text(block, "id")), &place, "has an id out of the safe set");
        broken.unless(is_safe_tool_name(text(block, "name")), place, "has a name out of the safe set");
    }
    for (place, block) in with_type(body, "tool_result") {
        let safe = is_safe_call_id(text(block, "tool_use_id"));
        broken.unless(safe, place, "has an id out of the safe set");
    }
}

#[cfg(test)]
#[path = "anthropic_tests.rs"]
mod tests;
