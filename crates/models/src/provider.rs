//! Completes a request for each kind of server: its URL, its headers, and the fields other than the context.
//!
//! The rendered context is sent byte for byte; other fields precede it.

mod anthropic;
mod ollama;
mod openai_chat;
mod openai_responses;

use domain::ToolName;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::Serialize;
use serde_json::value::RawValue;

pub use anthropic::OUTPUT_TOKENS_DEFAULT as ANTHROPIC_OUTPUT_TOKENS_DEFAULT;

use crate::config::{ModelServerConfig, OutputLimit, ServerKind};
use crate::error::ModelError;
use crate::framing::Framing;
use crate::key::ApiKey;
use crate::reply_parser::ReplyParser;
use crate::request::{ModelRequest, ToolDeclaration};
use formats::ToolChoice;

/// A kind of server with an HTTP API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    OpenAiChat,
    OpenAiResponses,
    Anthropic,
    Ollama,
}

#[derive(Debug)]
pub(crate) struct OutgoingRequest<'a> {
    pub(crate) request: &'a ModelRequest,
    pub(crate) tools: Vec<ToolDeclaration<'a>>,
    pub(crate) output_schema: Option<&'a RawValue>,
    pub(crate) num_ctx: Option<u32>,
    pub(crate) output_limit: OutputLimit,
}

impl OutgoingRequest<'_> {
    /// The name of one of the tools, as written in the request.
    fn written_name(&self, name: &ToolName) -> Option<&str> {
        let mut tools = self.request.tools.iter().zip(&self.tools);
        let (_, written) = tools.find(|(tool, _)| tool.name == *name)?;
        Some(&written.name)
    }
}

impl Provider {
    /// The provider of a kind; `None` for the built-in model.
    pub(crate) fn from_kind(kind: ServerKind) -> Option<Self> {
        match kind {
            ServerKind::Echo => None,
            ServerKind::OpenAiChat => Some(Self::OpenAiChat),
            ServerKind::OpenAiResponses => Some(Self::OpenAiResponses),
            ServerKind::Anthropic => Some(Self::Anthropic),
            ServerKind::Ollama => Some(Self::Ollama),
        }
    }

    pub(crate) fn url(self, config: &ModelServerConfig) -> String {
        let (default, path) = match self {
            Self::OpenAiChat => ("https://api.openai.com/v1", "/chat/completions"),
            Self::OpenAiResponses => ("https://api.openai.com/v1", "/responses"),
            Self::Anthropic => ("https://api.anthropic.com", "/v1/messages"),
            Self::Ollama => ("http://127.0.0.1:11434", "/api/chat"),
        };
        let base = config.base_url.as_deref().unwrap_or(default);
        format!("{}{path}", base.trim_end_matches('/'))
    }

    /// The headers with the key and the API version. `None` if the key is not valid in a header.
    pub(crate) fn headers(self, key: Option<&ApiKey>) -> Option<HeaderMap> {
        let mut headers = HeaderMap::new();
        if self == Self::Anthropic {
            headers.insert(anthropic::VERSION_HEADER, anthropic::VERSION);
        }
        let Some(key) = key else {
            return Some(headers);
        };
        let (name, text) = match self {
            Self::Anthropic => (anthropic::KEY_HEADER, key.expose().to_owned()),
            Self::OpenAiChat | Self::OpenAiResponses | Self::Ollama => {
                (AUTHORIZATION, format!("Bearer {}", key.expose()))
            }
        };
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Some(headers)
    }

    pub(crate) fn write(self, outgoing: &OutgoingRequest<'_>) -> Result<Vec<u8>, ModelError> {
        let body = &outgoing.request.body;
        match self {
            Self::OpenAiChat => with_head(&openai_chat::head(outgoing), body),
            Self::OpenAiResponses => with_head(&openai_responses::head(outgoing), body),
            Self::Anthropic => with_head(&anthropic::head(outgoing), body),
            Self::Ollama => ollama::write(outgoing),
        }
    }

    pub(crate) fn framing(self) -> Framing {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses | Self::Anthropic => Framing::events(),
            Self::Ollama => Framing::lines(),
        }
    }

    pub(crate) fn parser(self) -> ReplyParser {
        match self {
            Self::OpenAiChat => ReplyParser::OpenAiChat(formats::openai_chat::ReplyStream::default()),
            Self::OpenAiResponses => ReplyParser::OpenAiResponses(formats::openai_responses::ReplyStream::default()),
            Self::Anthropic => ReplyParser::Anthropic(formats::anthropic::ReplyStream::default()),
            Self::Ollama => ReplyParser::Ollama(formats::ollama::ReplyStream::default()),
        }
    }
}

/// The name of the schema, which `OpenAI`'s APIs require.
const SCHEMA_NAME: &str = "answer";

/// A JSON schema as `OpenAI`'s APIs name it. Not strict: they reject most schemas as strict ones, and answers are checked
/// when they are complete.
#[derive(Debug, Serialize)]
struct NamedSchema<'a> {
    name: &'static str,
    schema: &'a RawValue,
    strict: bool,
}

impl<'a> NamedSchema<'a> {
    fn of(outgoing: &OutgoingRequest<'a>) -> Option<Self> {
        let schema = outgoing.output_schema?;
        Some(Self { name: SCHEMA_NAME, schema, strict: false })
    }
}

/// A choice of tools as `OpenAI`'s APIs write it: a mode, or one tool.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Choice<T> {
    Mode(&'static str),
    Tool(T),
}

/// The choice of tools; `None`: the request has none, or names a tool that it does not have.
fn choice<'a, T>(outgoing: &'a OutgoingRequest<'_>, tool: impl FnOnce(&'a str) -> T) -> Option<Choice<T>> {
    Some(match outgoing.request.options.tool_choice.as_ref()? {
        ToolChoice::Auto => Choice::Mode("auto"),
        ToolChoice::None => Choice::Mode("none"),
        ToolChoice::Required => Choice::Mode("required"),
        ToolChoice::Tool(name) => Choice::Tool(tool(outgoing.written_name(name)?)),
    })
}

/// Writes the fields of `head`, then those of the body.
fn with_head(head: &impl Serialize, body: &[u8]) -> Result<Vec<u8>, ModelError> {
    let mut written = serde_json::to_vec(head).map_err(|_| NOT_WRITTEN)?;
    let fields = body.trim_ascii().strip_prefix(b"{").ok_or(NO_OBJECT)?;
    let is_empty = fields.trim_ascii_start() == b"}";
    if !fields.ends_with(b"}") {
        return Err(NO_OBJECT);
    }
    written.pop();
    if !is_empty {
        written.push(b',');
    }
    written.extend_from_slice(fields);
    Ok(written)
}

const NO_OBJECT: ModelError = ModelError::Unusable { problem: "has a body that is not a JSON object of its format" };
const NOT_WRITTEN: ModelError = ModelError::Unusable { problem: "cannot be written as JSON" };

#[cfg(test)]
mod tests;
