//! Anthropic messages: `POST {base}/v1/messages`.

use reqwest::header::{HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::value::RawValue;

use super::Outgoing;

/// Most tokens of a reply where the caller names none: the provider demands a number, and its older models take no more.
pub const OUTPUT_TOKENS_DEFAULT: u32 = 4_096;
/// The version of the API.
pub(super) const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");
pub(super) const VERSION_HEADER: HeaderName = HeaderName::from_static("anthropic-version");
pub(super) const KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");

/// What stands beside `system` and `messages`.
#[derive(Debug, Serialize)]
pub(super) struct Head<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
}

pub(super) fn head<'a>(outgoing: &'a Outgoing<'_>) -> Head<'a> {
    let tools = outgoing.tools.iter().map(|tool| Tool {
        name: &tool.name,
        description: tool.description,
        input_schema: tool.input_schema,
    });
    let max_tokens = outgoing.request.max_output_tokens;
    Head {
        model: &outgoing.request.model,
        max_tokens: max_tokens.unwrap_or(OUTPUT_TOKENS_DEFAULT),
        stream: true,
        temperature: outgoing.request.temperature,
        tools: tools.collect(),
    }
}
