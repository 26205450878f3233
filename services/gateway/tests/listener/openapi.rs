//! The OpenAPI description of the HTTP listener.

use std::collections::BTreeSet;

use gateway::http::router::document;
use serde_json::Value;

/// Endpoints without authentication.
const PUBLIC: [&str; 4] = ["/healthz", "/v1/limits", "/widget/1/hansard-chat.js", "/widget/1/{release}/{file}"];

fn check(path: &str, method: &str, operation: &Value) {
    let name = format!("{method} {path}");
    assert!(operation["summary"].is_string(), "{name}: a summary");
    assert_eq!(operation["tags"].as_array().unwrap().len(), 1, "{name}");
    let is_public = PUBLIC.contains(&path);
    assert_eq!(operation["security"].is_array(), !is_public, "{name}");
    let parameters = operation["parameters"].as_array();
    let mut seen = BTreeSet::new();
    for parameter in parameters.into_iter().flatten() {
        let key = (parameter["in"].to_string(), parameter["name"].to_string());
        assert!(parameter["description"].is_string(), "{name}: {key:?}");
        assert!(seen.insert(key.clone()), "{name}: {key:?} twice");
    }
    let named = path.matches('{').count();
    let in_path = seen.iter().filter(|(place, _)| place == "\"path\"").count();
    assert_eq!(in_path, named, "{name}: parameters of the path");
    let responses = operation["responses"].as_object().unwrap();
    assert!(responses.contains_key("default"), "{name}: problems");
    // A 204 response may be described in addition to the successful one.
    let no_content = usize::from(responses.len() > 2 && responses.contains_key("204"));
    assert_eq!(responses.len() - no_content, 2, "{name}: one success");
}

#[test]
fn every_operation_is_described_completely() {
    let document = serde_json::to_value(document()).unwrap();
    let mut ids = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            check(path, method, operation);
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "{id} is the id of two operations");
        }
    }
}

/// The fields of `/v1/limits`, `/v1/chat` and the endpoints below it are in snake case, for compatibility with their callers. So are
/// those of OpenAI's APIs, which OpenAI defines.
const SNAKE_CASE: [&str; 33] = [
    "age_max_ms",
    "body_bytes_max",
    "body_progress_bytes_min",
    "body_progress_timeout_ms",
    "cached_tokens",
    "created_at",
    "event_bytes_max",
    "events_per_commit_max",
    "file_bytes_max",
    "files_max",
    "header_bytes_max",
    "heartbeat_ms",
    "idle_timeout_ms",
    "input_tokens",
    "live_streams",
    "media_types",
    "metadata_bytes_max",
    "next_before",
    "next_cursor",
    "open_calls_max",
    "output_tokens",
    "parts_max",
    "pause_max_ms",
    "per_address_max",
    "per_gateway_max",
    "per_second",
    "retry_after_ms",
    "run_id",
    "session_id",
    "timeout_ms",
    "title_bytes_max",
    "tool_calls",
    "write_timeout_ms",
];

fn collect(value: &Value, names: &mut BTreeSet<String>, references: &mut BTreeSet<String>) {
    let members = value.as_object().into_iter().flatten();
    for (key, member) in members {
        if key == "properties" {
            names.extend(member.as_object().unwrap().keys().cloned());
        }
        if let (true, Some(reference)) = (key == "$ref", member.as_str()) {
            references.insert(reference.to_owned());
        }
        collect(member, names, references);
    }
    for member in value.as_array().into_iter().flatten() {
        collect(member, names, references);
    }
}

#[test]
fn bodies_are_described_as_they_are_written() {
    let document = serde_json::to_value(document()).unwrap();
    let (mut names, mut references) = (BTreeSet::new(), BTreeSet::new());
    for (path, item) in document["paths"].as_object().unwrap() {
        if !path.starts_with("/openai/") {
            collect(item, &mut names, &mut references);
        }
    }
    let mut seen = BTreeSet::new();
    while let Some(reference) = references.difference(&seen).next().cloned() {
        let schema = resolve(&document, &reference);
        collect(schema, &mut names, &mut references);
        seen.insert(reference);
    }
    let snake: Vec<_> = names.iter().filter(|name| name.contains('_')).collect();
    assert_eq!(snake, SNAKE_CASE);
    let mut all = BTreeSet::new();
    collect(&document, &mut BTreeSet::new(), &mut all);
    for reference in all {
        resolve(&document, &reference);
    }
}

fn resolve<'a>(document: &'a Value, reference: &str) -> &'a Value {
    let pointer = reference.strip_prefix('#').unwrap();
    let schema = document.pointer(pointer);
    schema.unwrap_or_else(|| panic!("{reference} has a target"))
}

/// `null` is described once: `oneOf` rejects a value that matches two alternatives.
#[test]
fn a_cleared_title_or_metadata_is_described() {
    let document = serde_json::to_value(document()).unwrap();
    let facts = document["components"]["schemas"]["FactBody"]["oneOf"].as_array();
    let updated = facts
        .unwrap()
        .iter()
        .find(|fact| {
            let name = &fact["properties"]["type"]["enum"][0];
            name == "ConversationUpdated"
        })
        .unwrap();
    let members = &updated["properties"];
    assert_eq!(members["title"]["type"], serde_json::json!(["string", "null"]));
    assert!(members["conversationMetadata"]["oneOf"].is_null());
    assert_eq!(updated["required"], serde_json::json!(["type"]));
}

/// The names and descriptions of the members of all bodies of some paths.
fn members(document: &Value, is_used: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let paths = document["paths"].as_object().unwrap().iter().filter(|(path, _)| is_used(path));
    let mut values: Vec<&Value> = paths.map(|(_, item)| item).collect();
    let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
    while let Some(value) = values.pop() {
        if let Some(reference) = value["$ref"].as_str().filter(|reference| seen.insert((*reference).to_owned())) {
            values.push(resolve(document, reference));
        }
        for (name, member) in value["properties"].as_object().into_iter().flatten() {
            found.insert(name.clone());
            found.extend(member["description"].as_str().map(str::to_owned));
        }
        values.extend(value.as_object().into_iter().flat_map(|members| members.values()));
        values.extend(value.as_array().into_iter().flatten());
    }
    found
}

/// The file is generated (`just client-types`), which needs node and a gateway. This finds what was forgotten without either.
#[test]
fn the_types_of_the_typescript_client_are_up_to_date() {
    let types = include_str!("../../../../clients/typescript/src/schema.ts");
    let document = serde_json::to_value(document()).unwrap();
    let used = ["/api/", "/v1/conversations", "/v1/histories", "/v1/search"];
    let found = members(&document, |path| used.iter().any(|prefix| path.starts_with(prefix)));
    assert!(found.len() > 100, "{}", found.len());
    let lines = found.iter().flat_map(|text| text.lines()).map(str::trim);
    let missing: Vec<_> = lines.filter(|line| !types.contains(line)).collect();
    assert!(missing.is_empty(), "run `just client-types`: {missing:#?}");
}
