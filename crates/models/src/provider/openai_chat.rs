//! OpenAI chat completions and compatible servers: `POST {base}/chat/completions`.

use serde::Serialize;
use serde_json::value::RawValue;

use super::{NamedSchema, OutgoingRequest};
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
    response_format: Option<ResponseFormat<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "json_schema")]
struct ResponseFormat<'a> {
    json_schema: NamedSchema<'a>,
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
}

pub(super) fn head<'a>(outgoing: &'a OutgoingRequest<'_>) -> Head<'a> {
    let limit = |field| {
        let limit = outgoing.request.max_output_tokens;
        limit.filter(|_| outgoing.output_limit == field)
    };
    Head {
        model: &outgoing.request.model,
        stream: true,
        stream_options: StreamOptions {
            include_usage: true,
        },
        max_completion_tokens: limit(OutputLimit::MaxCompletionTokens),
        max_tokens: limit(OutputLimit::MaxTokens),
        temperature: outgoing.request.temperature,
        tools: outgoing.tools.iter().map(function).collect(),
        response_format: NamedSchema::of(outgoing)
            .map(|json_schema| ResponseFormat { json_schema }),
    }
}

pub(super) fn function<'a>(tool: &'a ToolDeclaration<'_>) -> FunctionTool<'a> {
    FunctionTool {
        function: Function {
            name: &tool.name,
            description: tool.description,
            parameters: tool.input_schema,
        },
    }
}
