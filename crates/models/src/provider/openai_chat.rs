//! OpenAI chat completions and compatible servers: `POST {base}/chat/completions`.

use domain::JsonText;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Choice, NamedSchema, OutgoingRequest, choice};
use crate::config::OutputLimit;
use crate::request::ToolDeclaration;

/// The fields of a body other than `messages`.
#[derive(Debug, Serialize)]
pub(super) struct Head<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<FunctionTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<NamedTool<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
}

/// The form of an answer: the one of the agent, or else the one of the request.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ResponseFormat<'a> {
    Agent(SchemaFormat<'a>),
    Request(&'a RawValue),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "json_schema")]
struct SchemaFormat<'a> {
    json_schema: NamedSchema<'a>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "function")]
struct NamedTool<'a> {
    function: FunctionName<'a>,
}

#[derive(Debug, Serialize)]
struct FunctionName<'a> {
    name: &'a str,
}

#[derive(Debug, Serialize)]
struct StreamOptions {
    /// Without it the stream contains no usage.
    include_usage: bool,
}

/// A tool in the format of chat completions and Ollama.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "function")]
pub(super) struct FunctionTool<'a> {
    function: Function<'a>,
}

#[derive(Debug, Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
}

pub(super) fn head<'a>(outgoing: &'a OutgoingRequest<'_>) -> Head<'a> {
    let limit = |field| {
        let limit = outgoing.request.max_output_tokens;
        limit.filter(|_| outgoing.output_limit == field)
    };
    let options = &outgoing.request.options;
    Head {
        model: &outgoing.request.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_completion_tokens: limit(OutputLimit::MaxCompletionTokens),
        max_tokens: limit(OutputLimit::MaxTokens),
        temperature: outgoing.request.temperature,
        tools: outgoing.tools.iter().map(function).collect(),
        tool_choice: choice(outgoing, |name| NamedTool { function: FunctionName { name } }),
        parallel_tool_calls: options.parallel_tool_calls,
        response_format: response_format(outgoing),
        top_p: options.top_p,
        seed: options.seed,
        stop: &options.stop,
        presence_penalty: options.presence_penalty,
        frequency_penalty: options.frequency_penalty,
        reasoning_effort: options.reasoning_effort.as_deref(),
    }
}

fn response_format<'a>(outgoing: &'a OutgoingRequest<'_>) -> Option<ResponseFormat<'a>> {
    let schema = NamedSchema::of(outgoing);
    let agent = schema.map(|json_schema| ResponseFormat::Agent(SchemaFormat { json_schema }));
    agent.or_else(|| {
        let request = outgoing.request.options.response_format.as_ref();
        request.and_then(raw).map(ResponseFormat::Request)
    })
}

fn raw(json: &JsonText) -> Option<&RawValue> {
    serde_json::from_str(json.as_str()).ok()
}

pub(super) fn function<'a>(tool: &'a ToolDeclaration<'_>) -> FunctionTool<'a> {
    FunctionTool {
        function: Function {
            name: &tool.name,
            description: tool.description,
            parameters: tool.input_schema,
            strict: tool.strict,
        },
    }
}
