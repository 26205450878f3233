//! G: Gemini contents.

use serde_json::Value;

use super::value::{has, is_safe_call_id, is_safe_tool_name, is_token, list, starts_as_name, text, unknown};
use super::{Rule, Violations};

/// The rules, by id.
pub(super) const RULES: &[(&str, Rule)] = &[
    ("G", form),
    ("G1", g1),
    ("G2", g2),
    ("G3", g3),
    ("G4", g4),
    ("G5", g5),
    ("G6", g6),
    ("G7", g7),
    ("G8", g8),
    ("safe", safe),
];

/// The data fields of a part. Each part has exactly one.
const DATA: &[&str] =
    &["text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult"];
/// The other fields of a part.
const BESIDE: &[&str] = &["thought", "thoughtSignature", "mediaResolution"];
/// Maximum characters of a name.
const NAME_CHARS_MAX: usize = 128;

fn contents(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    let contents = list(body, "contents").iter().enumerate();
    contents.map(|(index, content)| (format!("contents[{index}]"), content))
}

fn parts(body: &Value) -> impl Iterator<Item = (String, &str, &Value)> {
    contents(body).flat_map(|(place, content)| {
        let parts = list(content, "parts").iter().enumerate();
        let role = text(content, "role");
        parts.map(move |(index, part)| (format!("{place}.parts[{index}]"), role, part))
    })
}

/// The values of a field of a content's parts.
fn named<'a>(content: &'a Value, field: &'static str) -> impl Iterator<Item = &'a Value> {
    list(content, "parts").iter().filter_map(move |part| part.get(field))
}

/// Contents and parts have known fields; calls have the role model, responses the role user.
fn form(body: &Value, broken: &mut Violations) {
    for (place, content) in contents(body) {
        let unknown = unknown(content, &["role", "parts"]);
        broken.unless(unknown.is_empty(), place, format!("has unknown fields {unknown:?}"));
    }
    for (place, role, part) in parts(body) {
        let known: Vec<&str> = DATA.iter().chain(BESIDE).copied().collect();
        let unknown = unknown(part, &known);
        broken.unless(unknown.is_empty(), &place, format!("has unknown fields {unknown:?}"));
        let data = DATA.iter().filter(|field| has(part, field)).count();
        broken.unless(data == 1, &place, "has not exactly one kind of data");
        let another = if role == "model" { "functionResponse" } else { "functionCall" };
        broken.unless(!has(part, another), &place, "has another role's data");
        let media = &part["inlineData"];
        let whole = !text(media, "mimeType").is_empty() && !text(media, "data").is_empty();
        broken.unless(media.is_null() || whole, &place, "has media without type or data");
        let file = &part["fileData"];
        broken.unless(file.is_null() || !text(file, "fileUri").is_empty(), &place, "has a file without its address");
        let args = &part["functionCall"]["args"];
        broken.unless(args.is_null() || args.is_object(), place, "has arguments that are no object");
    }
}

/// Roles are user and model; there is a content; instructions are separate and not empty.
fn g1(body: &Value, broken: &mut Violations) {
    broken.unless(!list(body, "contents").is_empty(), "contents", "is empty");
    for (place, content) in contents(body) {
        let known = matches!(text(content, "role"), "user" | "model");
        broken.unless(known, place, "has another role");
    }
    let Some(instruction) = body.get("systemInstruction") else {
        return;
    };
    let parts = list(instruction, "parts");
    let has_content = !parts.is_empty() && parts.iter().all(|part| !text(part, "text").is_empty());
    broken.unless(has_content, "systemInstruction", "has no text");
}

/// There are parts, and none is empty.
fn g2(body: &Value, broken: &mut Violations) {
    for (place, content) in contents(body) {
        broken.unless(!list(content, "parts").is_empty(), place, "has no parts");
    }
    for (place, _, part) in parts(body) {
        let holds = DATA.iter().any(|field| has(part, field)) && part["text"] != "";
        broken.unless(holds, place, "is empty");
    }
}

/// A turn with calls follows a user content, and the next content starts with equally many responses.
fn g3(body: &Value, broken: &mut Violations) {
    let mut calls = 0;
    let mut before = "";
    for (place, content) in contents(body) {
        let all = named(content, "functionResponse").count();
        let first = list(content, "parts").iter().take_while(|part| has(part, "functionResponse")).count();
        broken.unless(first == all, &place, "has responses after other parts");
        broken.unless(all == calls, &place, format!("has {all} responses to {calls} calls"));
        calls = named(content, "functionCall").count();
        broken.unless(calls == 0 || before == "user", place, "calls, but not right after the user");
        before = text(content, "role");
    }
    broken.unless(calls == 0, "contents", "ends before the responses are there");
}

/// A response has the name and id of its call, and an object with `output` or `error`.
fn g4(body: &Value, broken: &mut Violations) {
    for (place, _, part) in parts(body).filter(|(_, _, part)| has(part, "functionResponse")) {
        let response = &part["functionResponse"];
        broken.unless(!text(response, "name").is_empty(), &place, "has no name");
        let fields: Vec<&String> =
            response["response"].as_object().into_iter().flat_map(|object| object.keys()).collect();
        let one = matches!(fields.as_slice(), [field] if *field == "output" || *field == "error");
        broken.unless(one, place, "has a response of another form");
    }
    let all: Vec<(String, &Value)> = contents(body).collect();
    for pair in all.windows(2) {
        let [(_, calling), (place, responding)] = pair else {
            continue;
        };
        let mut waiting: Vec<(&str, &str)> = named(calling, "functionCall").map(identity).collect();
        for response in named(responding, "functionResponse").map(identity) {
            match waiting.iter().position(|call| *call == response) {
                Some(found) => {
                    waiting.remove(found);
                }
                None => broken.at(place, "has a response whose name or id is no call's before it"),
            }
        }
    }
}

fn identity(named: &Value) -> (&str, &str) {
    (text(named, "name"), text(named, "id"))
}

/// The first call of each step has a signature in its part. A request does not show the current turn, so all turns are checked.
fn g5(body: &Value, broken: &mut Violations) {
    for (place, content) in contents(body) {
        let first = list(content, "parts").iter().find(|part| has(part, "functionCall"));
        let signed = first.is_none_or(|part| !text(part, "thoughtSignature").is_empty());
        broken.unless(signed, place, "has a first call that is not signed");
    }
    for (place, _, part) in parts(body).filter(|(_, _, part)| has(part, "thoughtSignature")) {
        broken.unless(!text(part, "thoughtSignature").is_empty(), place, "has an empty signature");
    }
}

/// The list does not end with the model.
fn g6(body: &Value, broken: &mut Violations) {
    let last = list(body, "contents").last();
    broken.unless(last.is_none_or(|content| text(content, "role") != "model"), "contents", "ends with the model");
}

/// Adjacent contents have different roles.
fn g7(body: &Value, broken: &mut Violations) {
    let mut before = "";
    for (place, content) in contents(body) {
        let role = text(content, "role");
        broken.unless(role != before, place, "does not alternate");
        before = role;
    }
}

fn functions(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    parts(body).flat_map(|(place, _, part)| {
        let fields = ["functionCall", "functionResponse"].into_iter();
        fields.filter_map(move |field| Some((place.clone(), part.get(field)?)))
    })
}

/// A name starts with a letter or `_` and has at most 128 letters, digits, `. : - _`.
fn g8(body: &Value, broken: &mut Violations) {
    for (place, function) in functions(body) {
        let name = text(function, "name");
        let formed = starts_as_name(name) && is_token(name, NAME_CHARS_MAX, ".:-_");
        broken.unless(formed, place, "has a name out of form");
    }
}

fn safe(body: &Value, broken: &mut Violations) {
    for (place, function) in functions(body) {
        broken.unless(is_safe_tool_name(text(function, "name")), &place, "has a name out of the safe set");
        let safe = !has(function, "id") || is_safe_call_id(text(function, "id"));
        broken.unless(safe, place, "has an id out of the safe set");
    }
}

#[cfg(test)]
#[path = "gemini_tests.rs"]
mod tests;
