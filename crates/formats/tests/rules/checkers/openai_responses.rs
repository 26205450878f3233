//! R: OpenAI Responses.

use std::collections::BTreeSet;

use serde_json::Value;

use super::value::{has, is_blank, is_safe_call_id, is_safe_tool_name, is_token, list, text};
use super::{Rule, Violations};

/// The rules, by id.
pub(super) const RULES: &[(&str, Rule)] =
    &[("R", form), ("R1", r1), ("R2", r2), ("R3", r3), ("R4", r4), ("R5", r5), ("R6", r6), ("R7", r7), ("safe", safe)];

/// The optional rule, by id.
pub(super) const ADJACENT: (&str, Rule) = ("R2 adjacent", r2_adjacent);

/// The types of the provider's own items, without messages, calls and outputs.
const OWN_TYPES: &[&str] = &[
    "reasoning",
    "item_reference",
    "web_search_call",
    "file_search_call",
    "computer_call",
    "image_generation_call",
    "code_interpreter_call",
    "local_shell_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_call",
    "custom_tool_call",
    "compaction",
];
/// Maximum characters of a call id.
const CALL_ID_CHARS_MAX: usize = 64;
/// Maximum characters of an output.
const OUTPUT_CHARS_MAX: usize = 10_485_760;
/// Maximum characters of a name.
const NAME_CHARS_MAX: usize = 128;

/// The type of an item. Messages may omit it.
fn kind(item: &Value) -> &str {
    let typed = text(item, "type");
    if typed.is_empty() && has(item, "role") { "message" } else { typed }
}

fn items(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    let items = list(body, "input").iter().enumerate();
    items.map(|(index, item)| (format!("input[{index}]"), item))
}

fn with_kind<'a>(body: &'a Value, wanted: &'a str) -> impl Iterator<Item = (String, &'a Value)> {
    items(body).filter(move |(_, item)| kind(item) == wanted)
}

/// The input is not empty, its items are known, messages have parts that their role may have.
fn form(body: &Value, broken: &mut Violations) {
    broken.unless(!list(body, "input").is_empty(), "input", "is empty");
    for (place, item) in items(body) {
        match kind(item) {
            "message" => message(&place, item, broken),
            "function_call" | "function_call_output" => {}
            other => broken.unless(OWN_TYPES.contains(&other), place, "is of no known type"),
        }
    }
}

fn message(place: &str, item: &Value, broken: &mut Violations) {
    let types: &[&str] = match text(item, "role") {
        "user" => &["input_text", "input_image", "input_file"],
        "assistant" => &["output_text", "refusal"],
        "system" | "developer" => &["input_text"],
        _ => return broken.at(place, "has no known role"),
    };
    let has_content = !text(item, "content").is_empty() || !list(item, "content").is_empty();
    broken.unless(has_content, place, "says nothing");
    for part in list(item, "content") {
        let known = types.contains(&text(part, "type")) && is_part(part);
        broken.unless(known, place, format!("has a part of another form: {part}"));
    }
}

fn is_part(part: &Value) -> bool {
    let any = |fields: &[&str]| fields.iter().any(|field| !text(part, field).is_empty());
    match text(part, "type") {
        "input_image" => any(&["image_url", "file_id"]),
        "input_file" => any(&["file_id", "file_url", "file_data"]),
        "refusal" => part["refusal"].is_string(),
        _ => part["text"].is_string(),
    }
}

/// Each output follows its call; each call has one output.
fn r1(body: &Value, broken: &mut Violations) {
    let (mut called, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for (place, item) in items(body) {
        let id = text(item, "call_id");
        match kind(item) {
            "function_call" => broken.unless(called.insert(id), place, "calls again with this id"),
            "function_call_output" => {
                broken.unless(called.contains(id), &place, "answers no call");
                broken.unless(answered.insert(id), &place, "answers a second time");
            }
            _ => {}
        }
    }
    broken.unless(called.is_subset(&answered), "input", "has calls without an output");
}

/// Outputs directly follow their calls; only reasoning may be between two calls.
fn r2(body: &Value, broken: &mut Violations) {
    let mut open: Vec<&str> = Vec::new();
    let mut answering = false;
    for (place, item) in items(body) {
        let id = text(item, "call_id");
        match kind(item) {
            "function_call" => {
                broken.unless(open.is_empty() || !answering, place, "calls before the last outputs are there");
                open.push(id);
                answering = false;
            }
            "function_call_output" => {
                broken.unless(open.contains(&id), place, "is not adjacent to its call");
                open.retain(|waiting| *waiting != id);
                answering = true;
            }
            "reasoning" if !answering => {}
            _ => broken.unless(open.is_empty(), place, "stands between calls and outputs"),
        }
    }
    broken.unless(open.is_empty(), "input", "ends before the outputs are there");
}

/// Each output directly follows its call.
fn r2_adjacent(body: &Value, broken: &mut Violations) {
    let mut rest = items(body).peekable();
    while let Some((place, item)) = rest.next() {
        let id = text(item, "call_id");
        let answers = |next: &Value| kind(next) == "function_call_output" && text(next, "call_id") == id;
        match kind(item) {
            "function_call" => {
                let next = rest.next_if(|(_, next)| answers(next));
                broken.unless(next.is_some(), place, "is not followed by its output");
            }
            "function_call_output" => broken.at(place, "does not follow its call"),
            _ => {}
        }
    }
}

/// A reasoning item is directly followed by an item of the model.
fn r3(body: &Value, broken: &mut Violations) {
    let input = list(body, "input");
    for (index, pair) in input.iter().zip(input.iter().skip(1).map(Some).chain([None])).enumerate() {
        if kind(pair.0) != "reasoning" {
            continue;
        }
        let follows = pair.1.is_some_and(|next| match kind(next) {
            "message" => text(next, "role") == "assistant",
            "function_call_output" | "reasoning" | "item_reference" => false,
            _ => true,
        });
        broken.unless(follows, format!("input[{index}]"), "is reasoning without its item");
    }
}

/// Item ids have the prefix of their type; calls and outputs have no item id.
fn r4(body: &Value, broken: &mut Violations) {
    for (place, item) in items(body).filter(|(_, item)| has(item, "id")) {
        let prefix = match kind(item) {
            "message" => "msg_",
            "reasoning" => "rs_",
            "function_call" | "function_call_output" => {
                broken.at(place, "carries an item id");
                continue;
            }
            _ => continue,
        };
        broken.unless(text(item, "id").starts_with(prefix), place, "has an id of another prefix");
    }
}

/// Call ids, outputs and names are within their bounds; arguments are JSON in a string.
fn r5(body: &Value, broken: &mut Violations) {
    for (place, item) in items(body).filter(|(_, item)| kind(item).starts_with("function_call")) {
        let chars = text(item, "call_id").chars().count();
        broken.unless((1..=CALL_ID_CHARS_MAX).contains(&chars), place, "has a call id out of bounds");
    }
    for (place, item) in with_kind(body, "function_call") {
        let named = is_token(text(item, "name"), NAME_CHARS_MAX, "_-");
        broken.unless(named, &place, "has a name out of form");
        let json = serde_json::from_str::<&serde_json::value::RawValue>(text(item, "arguments"));
        broken.unless(json.is_ok(), &place, "has arguments that are no JSON in a string");
    }
    for (place, item) in with_kind(body, "function_call_output") {
        let output = &item["output"];
        broken.unless(output.is_string() || output.is_array(), &place, "has no output");
        let chars = output.as_str().map_or(0, |text| text.chars().count());
        broken.unless(chars <= OUTPUT_CHARS_MAX, &place, "has an output out of bounds");
        let parts = list(item, "output").iter();
        let known = parts.map(|part| text(part, "type").starts_with("input_") && is_part(part));
        broken.unless(known.min().unwrap_or(true), &place, "has an output part of another form");
        broken.unless(*output != Value::Array(Vec::new()), &place, "has an empty output list");
    }
}

/// No item is sent twice; not both a conversation and a previous response are set, and no item of either is sent.
fn r6(body: &Value, broken: &mut Violations) {
    let stored = has(body, "conversation") || has(body, "previous_response_id");
    broken.unless(!stored, "body", "names stored items beside those that it sends");
    let mut ids = BTreeSet::new();
    for (place, item) in items(body).filter(|(_, item)| has(item, "id")) {
        broken.unless(ids.insert(text(item, "id")), place, "stands there twice");
    }
}

/// Instructions are not empty; only the assistant has a phase, which is known; all instructions have one role.
fn r7(body: &Value, broken: &mut Violations) {
    let blank = has(body, "instructions") && is_blank(text(body, "instructions"));
    broken.unless(!blank, "instructions", "are blank");
    for (place, item) in items(body).filter(|(_, item)| has(item, "phase")) {
        let known = matches!(text(item, "phase"), "commentary" | "final_answer");
        broken.unless(known && text(item, "role") == "assistant", place, "has a phase out of place");
    }
    let speaks = |role: &str| items(body).any(|(_, item)| text(item, "role") == role);
    broken.unless(!(speaks("system") && speaks("developer")), "input", "mixes system and developer");
}

fn safe(body: &Value, broken: &mut Violations) {
    for (place, item) in items(body).filter(|(_, item)| kind(item).starts_with("function_call")) {
        let safe = is_safe_call_id(text(item, "call_id"));
        broken.unless(safe, place, "has a call id out of the safe set");
    }
    for (place, item) in with_kind(body, "function_call") {
        broken.unless(is_safe_tool_name(text(item, "name")), place, "has a name out of the safe set");
    }
}

#[cfg(test)]
#[path = "openai_responses_tests.rs"]
mod tests;
