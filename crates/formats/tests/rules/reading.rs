//! Reads request bodies for the checkers and the properties, with any JSON in the inputs of tools.

use std::collections::BTreeMap;

use formats::Format;
use serde_json::Value;
use serde_json::value::RawValue;

/// A call or a result in a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BodyCall {
    /// The id of the call.
    pub(crate) id: String,
    /// The tool name, if the body contains it.
    pub(crate) name: Option<String>,
}

/// The field of a body with the list of messages.
pub(crate) fn list_field(format: Format) -> &'static str {
    match format {
        Format::OpenAiResponses => "input",
        Format::Gemini => "contents",
        Format::Canonical | Format::OpenAiChat | Format::Anthropic | Format::Ollama => "messages",
    }
}

/// The raw fields of the body.
pub(crate) fn fields(body: &[u8]) -> BTreeMap<String, &RawValue> {
    serde_json::from_slice(body).unwrap()
}

/// The raw elements of the body's list.
pub(crate) fn elements(format: Format, body: &[u8]) -> Vec<&RawValue> {
    let list = fields(body).remove(list_field(format)).unwrap();
    serde_json::from_str(list.get()).unwrap()
}

/// The body as a value of any depth. A number or a text that a value cannot contain becomes its raw text.
pub(crate) fn body(bytes: &[u8]) -> Value {
    value(serde_json::from_slice(bytes).unwrap())
}

/// Raw JSON as a value.
pub(crate) fn value(raw: &RawValue) -> Value {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'{') => {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap();
            fields.into_iter().map(|(name, raw)| (name, value(raw))).collect()
        }
        Some(b'[') => {
            let elements: Vec<&RawValue> = serde_json::from_str(text).unwrap();
            elements.into_iter().map(value).collect()
        }
        _ => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
    }
}

/// All texts of a value, without field names.
pub(crate) fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(elements) => elements.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The calls of a body, grouped by message.
pub(crate) fn calls(format: Format, body: &Value) -> Vec<Vec<BodyCall>> {
    let elements = list(&body[list_field(format)]);
    if format == Format::OpenAiResponses {
        let typed = |item: &Value| item["type"] == "function_call";
        let runs = elements.split(|item| !typed(item) && item["type"] != "reasoning");
        let seen = runs.map(|run| run.iter().filter(|item| typed(item)).map(|item| seen(item, "call_id", "name")));
        return seen.map(Iterator::collect).filter(|calls: &Vec<BodyCall>| !calls.is_empty()).collect();
    }
    let in_message = |message: &Value| -> Vec<BodyCall> {
        match format {
            Format::Anthropic => {
                typed(&message["content"], "tool_use").map(|block| seen(block, "id", "name")).collect()
            }
            Format::Gemini => parts(message, "functionCall").map(|call| seen(call, "id", "name")).collect(),
            _ => {
                let calls = list(&message["tool_calls"]).iter();
                calls
                    .map(|call| BodyCall {
                        id: text(&call["id"]),
                        name: call["function"]["name"].as_str().map(str::to_owned),
                    })
                    .collect()
            }
        }
    };
    elements.iter().map(in_message).filter(|calls| !calls.is_empty()).collect()
}

/// The results of a body, in order.
pub(crate) fn results(format: Format, body: &Value) -> Vec<BodyCall> {
    let elements = list(&body[list_field(format)]).iter();
    let in_message = |message: &Value| -> Vec<BodyCall> {
        match format {
            Format::OpenAiResponses if message["type"] == "function_call_output" => {
                vec![seen(message, "call_id", "name")]
            }
            Format::Anthropic => {
                typed(&message["content"], "tool_result").map(|block| seen(block, "tool_use_id", "name")).collect()
            }
            Format::Gemini => parts(message, "functionResponse").map(|response| seen(response, "id", "name")).collect(),
            _ if message["role"] == "tool" => vec![seen(message, "tool_call_id", "tool_name")],
            _ => Vec::new(),
        }
    };
    elements.flat_map(in_message).collect()
}

fn seen(value: &Value, id: &str, name: &str) -> BodyCall {
    BodyCall { id: text(&value[id]), name: value[name].as_str().map(str::to_owned) }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn typed<'a>(blocks: &'a Value, wanted: &'static str) -> impl Iterator<Item = &'a Value> {
    list(blocks).iter().filter(move |block| block["type"] == wanted)
}

fn parts<'a>(content: &'a Value, field: &'static str) -> impl Iterator<Item = &'a Value> {
    list(&content["parts"]).iter().filter_map(move |part| part.get(field))
}
