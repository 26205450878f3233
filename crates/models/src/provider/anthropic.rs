//! Anthropic messages: `POST {base}/v1/messages`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use reqwest::header::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::OutgoingRequest;
use formats::TOOLS_MAX;
use formats::ToolChoice;

/// Maximum tokens of a reply if the caller sets none. The provider requires a number, and its older models accept no more.
pub const OUTPUT_TOKENS_DEFAULT: u32 = 4_096;
pub(super) const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");
pub(super) const VERSION_HEADER: HeaderName = HeaderName::from_static("anthropic-version");
pub(super) const KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");

/// The fields of a body other than `system` and `messages`.
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
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
}

#[derive(Debug, Serialize)]
struct OutputConfig<'a> {
    format: OutputFormat<'a>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "json_schema")]
struct OutputFormat<'a> {
    schema: &'a RawValue,
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

/// The smallest schema that the provider accepts.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum AnyObject {
    Object,
}

/// Which of the tools the model may call.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Choice<'a> {
    Auto,
    None,
    Any,
    Tool { name: &'a str },
}

/// Without given tools, declares the tools that the history calls, and forbids calls: the provider rejects calls and results
/// in a request without tools.
pub(super) fn head<'a>(outgoing: &'a OutgoingRequest<'_>) -> Head<'a> {
    let given = outgoing.tools.iter().map(|tool| Tool {
        name: Cow::Borrowed(tool.name.as_str()),
        description: Some(tool.description),
        input_schema: Schema::Given(tool.input_schema),
    });
    let mut tools: Vec<Tool<'a>> = given.collect();
    let options = &outgoing.request.options;
    let choice = options.tool_choice.as_ref();
    let mut tool_choice = choice.and_then(|given| self::choice(outgoing, given));
    if tools.is_empty() {
        let called = called_names(&outgoing.request.body).into_iter();
        tools.extend(called.map(|name| Tool { name, description: None, input_schema: Schema::Any(AnyObject::Object) }));
        tool_choice = (!tools.is_empty()).then_some(Choice::None);
    }
    let max_tokens = outgoing.request.max_output_tokens;
    Head {
        model: &outgoing.request.model,
        max_tokens: max_tokens.unwrap_or(OUTPUT_TOKENS_DEFAULT),
        stream: true,
        temperature: outgoing.request.temperature,
        tools,
        tool_choice,
        top_p: options.top_p,
        stop_sequences: &options.stop,
        output_config: outgoing.output_schema.map(|schema| OutputConfig { format: OutputFormat { schema } }),
    }
}

fn choice<'a>(outgoing: &'a OutgoingRequest<'_>, choice: &ToolChoice) -> Option<Choice<'a>> {
    Some(match choice {
        ToolChoice::Auto => Choice::Auto,
        ToolChoice::None => Choice::None,
        ToolChoice::Required => Choice::Any,
        ToolChoice::Tool(name) => Choice::Tool { name: outgoing.written_name(name)? },
    })
}

/// The names of the tools that a body calls, in order; at most [`TOOLS_MAX`], because the provider requires only one. Empty
/// for an invalid body, which the server rejects.
fn called_names(body: &[u8]) -> BTreeSet<Cow<'_, str>> {
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

const CALL: &str = "tool_use";

#[derive(Debug, Default, Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    messages: Vec<Message<'a>>,
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    /// Blocks, or a text.
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
