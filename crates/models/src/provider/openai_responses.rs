//! OpenAI Responses: `POST {base}/responses`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use super::{Choice, NamedSchema, OutgoingRequest, choice};

/// The fields of a body other than `instructions` and `input`.
#[derive(Debug, Serialize)]
pub(super) struct Head<'a> {
    model: &'a str,
    stream: bool,
    /// Always false: every request contains all items, so none of them is stored (R6 in
    /// `docs/reference/provider-rules.md`).
    store: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<FunctionTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<NamedTool<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextOptions<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
}

#[derive(Debug, Serialize)]
struct TextOptions<'a> {
    format: TextFormat<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum TextFormat<'a> {
    /// The schema of the agent.
    Schema(SchemaFormat<'a>),
    /// The form that the request gives: its members, verbatim.
    Given(BTreeMap<String, &'a RawValue>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "json_schema")]
struct SchemaFormat<'a> {
    #[serde(flatten)]
    schema: NamedSchema<'a>,
}

#[derive(Debug, Serialize)]
struct Reasoning<'a> {
    effort: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "function")]
struct NamedTool<'a> {
    name: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "function")]
struct FunctionTool<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
    /// Always written: without it tools are strict, and the provider rejects most schemas.
    strict: bool,
}

pub(super) fn head<'a>(outgoing: &'a OutgoingRequest<'_>) -> Head<'a> {
    let tools = outgoing.tools.iter().map(|tool| FunctionTool {
        name: &tool.name,
        description: tool.description,
        parameters: tool.input_schema,
        strict: tool.strict,
    });
    let options = &outgoing.request.options;
    Head {
        model: &outgoing.request.model,
        stream: true,
        store: false,
        max_output_tokens: outgoing.request.max_output_tokens,
        temperature: outgoing.request.temperature,
        tools: tools.collect(),
        tool_choice: choice(outgoing, |name| NamedTool { name }),
        parallel_tool_calls: options.parallel_tool_calls,
        top_p: options.top_p,
        text: text_format(outgoing).map(|format| TextOptions { format }),
        reasoning: options.reasoning_effort.as_deref().map(|effort| Reasoning { effort }),
    }
}

/// The form of the answer. Chat completions nest the members of a schema, this API does not.
fn text_format<'a>(outgoing: &'a OutgoingRequest<'_>) -> Option<TextFormat<'a>> {
    if let Some(schema) = NamedSchema::of(outgoing) {
        return Some(TextFormat::Schema(SchemaFormat { schema }));
    }
    let given = outgoing.request.options.response_format.as_ref()?;
    let mut members: BTreeMap<String, &RawValue> = serde_json::from_str(given.as_str()).ok()?;
    if let Some(schema) = members.remove("json_schema") {
        let schema = serde_json::from_str::<BTreeMap<String, &RawValue>>(schema.get());
        members.extend(schema.unwrap_or_default());
    }
    Some(TextFormat::Given(members))
}
