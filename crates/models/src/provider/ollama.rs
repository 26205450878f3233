//! Ollama: `POST {base}/api/chat`. The rendered body may contain options, so both lists of options are merged.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::openai_chat::{FunctionTool, function};
use super::{NO_OBJECT, NOT_WRITTEN, OutgoingRequest};
use crate::error::ModelError;

#[derive(Debug, Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    /// Always false: the server's truncation does not keep calls and results together (L5 in
    /// `docs/reference/provider-rules.md`).
    truncate: bool,
    options: Options,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<FunctionTool<'a>>,
    /// The JSON schema of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'a RawValue>,
    messages: &'a RawValue,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Options {
    #[serde(skip_serializing_if = "Option::is_none")]
    num_ctx: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stop: Vec<String>,
}

/// The fields that are read from the rendered body.
#[derive(Debug, Deserialize)]
struct Rendered<'a> {
    #[serde(default)]
    options: Options,
    #[serde(borrow)]
    messages: &'a RawValue,
}

pub(super) fn write(outgoing: &OutgoingRequest<'_>) -> Result<Vec<u8>, ModelError> {
    let request = outgoing.request;
    let rendered: Rendered<'_> = serde_json::from_slice(&request.body).map_err(|_| NO_OBJECT)?;
    let body = Body {
        model: &request.model,
        stream: true,
        truncate: false,
        options: Options {
            num_ctx: rendered.options.num_ctx.or(outgoing.num_ctx),
            num_predict: request.max_output_tokens,
            temperature: request.temperature,
            top_p: request.options.top_p,
            seed: request.options.seed,
            stop: request.options.stop.clone(),
        },
        tools: outgoing.tools.iter().map(function).collect(),
        format: outgoing.output_schema,
        messages: rendered.messages,
    };
    serde_json::to_vec(&body).map_err(|_| NOT_WRITTEN)
}
