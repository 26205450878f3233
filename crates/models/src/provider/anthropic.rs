//! Anthropic messages: `POST {base}/v1/messages`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use reqwest::header::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Outgoing;
use crate::request::TOOLS_MAX;

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
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice>,
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: Schema<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Schema<'a> {
    Given(&'a RawValue),
    Any(AnyObject),
}

/// A schema that says the least that the provider takes.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum AnyObject {
    Object,
}

/// Which of the tools the model may call.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ToolChoice {
    None,
}

/// With no tools given, those that the history tells of are declared, and none may be called: the provider refuses calls
/// and results in a request without tools.
pub(super) fn head<'a>(outgoing: &'a Outgoing<'_>) -> Head<'a> {
    let given = outgoing.tools.iter().map(|tool| Tool {
        name: Cow::Borrowed(tool.name.as_str()),
        description: Some(tool.description),
        input_schema: Schema::Given(tool.input_schema),
    });
    let mut tools: Vec<Tool<'a>> = given.collect();
    let mut tool_choice = None;
    if tools.is_empty() {
        tools.extend(called(&outgoing.request.body).into_iter().map(told_of));
        tool_choice = (!tools.is_empty()).then_some(ToolChoice::None);
    }
    let max_tokens = outgoing.request.max_output_tokens;
    Head {
        model: &outgoing.request.model,
        max_tokens: max_tokens.unwrap_or(OUTPUT_TOKENS_DEFAULT),
        stream: true,
        temperature: outgoing.request.temperature,
        tools,
        tool_choice,
    }
}

fn told_of(name: Cow<'_, str>) -> Tool<'_> {
    Tool {
        name,
        description: None,
        input_schema: Schema::Any(AnyObject::Object),
    }
}

/// The names of the tools that a body's calls name, in order; the first [`TOOLS_MAX`] of them, for one is enough. None where
/// the body is none: the server says so.
fn called(body: &[u8]) -> BTreeSet<Cow<'_, str>> {
    let body: Body<'_> = serde_json::from_slice(body).unwrap_or_default();
    let contents = body.messages.iter().map(|message| message.content.get());
    let blocks = contents.flat_map(|content| {
        let blocks: Vec<Block<'_>> = serde_json::from_str(content).unwrap_or_default();
        blocks
    });
    let calls = blocks.filter(|block| block.kind == CALL);
    let names: BTreeSet<Cow<'_, str>> = calls.filter_map(|call| call.name).collect();
    names.into_iter().take(TOOLS_MAX).collect()
}

/// The type of a block that is a call.
const CALL: &str = "tool_use";

#[derive(Debug, Default, Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    messages: Vec<Message<'a>>,
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    /// Blocks, or a text alone.
    #[serde(borrow)]
    content: &'a RawValue,
}

#[derive(Debug, Deserialize)]
struct Block<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
}
