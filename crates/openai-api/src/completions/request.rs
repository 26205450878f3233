//! The body of a request.

use domain::{Fact, Violation, ViolationReason};
use formats::{Format, ParseError, RequestSettings};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::tools::{CompletionTool, ToolChoiceBody, tool_choice, tools};
use crate::wrong_field::{not_supported, wrong};

/// Most bytes of a body.
pub const COMPLETION_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Maximum number of messages, calls and results of calls in a request.
pub const COMPLETION_EVENTS_MAX: usize = 2_000;

/// A request of a chat completion. Unknown fields are ignored. The agent's model server must support what is given; otherwise the
/// answer is 400.
#[derive(Debug, Deserialize, ToSchema)]
pub struct CompletionRequest {
    /// The agent, whose model answers.
    #[schema(example = "support")]
    pub model: String,
    /// The messages, oldest first, with calls of tools and their results; 1 to 2,000 of all.
    #[schema(value_type = Vec<Object>)]
    messages: Box<RawValue>,
    /// Whether the answer is streamed.
    pub stream: Option<bool>,
    /// Options of the stream.
    pub stream_options: Option<CompletionStreamOptions>,
    /// The tools, at most 128. The caller runs them. Tools of the agent's settings are not offered.
    tools: Option<Vec<CompletionTool>>,
    /// Which tools the model may or must call.
    #[schema(value_type = Option<Object>)]
    tool_choice: Option<ToolChoiceBody>,
    /// The end user; the header `x-hansard-user` takes precedence.
    pub user: Option<String>,
    /// The end user, if `user` is absent.
    pub safety_identifier: Option<String>,
    /// The sampling temperature, 0 to 2; absent: the agent's.
    pub temperature: Option<f64>,
    /// Nucleus sampling, 0 to 1.
    pub top_p: Option<f64>,
    /// Maximum number of tokens of the answer. The agent's maximum applies too.
    pub max_completion_tokens: Option<u32>,
    /// As `max_completion_tokens`.
    pub max_tokens: Option<u32>,
    /// The seed of the sampling.
    pub seed: Option<i64>,
    /// A text that ends the answer, or at most 4 texts.
    #[schema(value_type = Option<Object>)]
    pub stop: Option<StopBody>,
    /// -2 to 2.
    pub presence_penalty: Option<f64>,
    /// -2 to 2.
    pub frequency_penalty: Option<f64>,
    /// The effort of thoughts, as the model server names it.
    pub reasoning_effort: Option<String>,
    /// Whether one answer may have several calls.
    pub parallel_tool_calls: Option<bool>,
    /// The form of the answer: `text`, `json_object`, or `json_schema` with a schema.
    #[schema(value_type = Option<Object>)]
    pub response_format: Option<Box<RawValue>>,
    /// At most 1: one answer.
    n: Option<u32>,
    /// Not supported, except `false`.
    logprobs: Option<bool>,
    /// Not supported, except 0.
    top_logprobs: Option<u32>,
    /// `true`: the exchange is recorded, in a new conversation unless the header `x-hansard-conversation` names one.
    pub store: Option<bool>,
    /// The metadata of a new conversation: at most 16 pairs, with keys of at most 64 characters and values of at most 512.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Box<RawValue>>,
    /// Only `text`.
    modalities: Option<Vec<String>>,
    #[schema(ignore)]
    audio: Option<IgnoredAny>,
    #[schema(ignore)]
    functions: Option<IgnoredAny>,
    #[schema(ignore)]
    function_call: Option<IgnoredAny>,
    #[schema(ignore)]
    logit_bias: Option<IgnoredAny>,
    #[schema(ignore)]
    web_search_options: Option<IgnoredAny>,
}

/// One text or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum StopBody {
    /// One text.
    One(String),
    /// Several texts.
    Several(Vec<String>),
}

/// Options of a stream.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub struct CompletionStreamOptions {
    /// Whether the last chunk has the usage.
    pub include_usage: Option<bool>,
}

impl CompletionRequest {
    /// What the request sets instead of the agent's settings; `model`: another model of the agent's server.
    ///
    /// # Errors
    /// 400 with the field: it is invalid, over its bound, or not supported.
    pub fn settings(&self, model: Option<String>) -> Result<RequestSettings, Violation> {
        self.check_supported()?;
        let tools = tools(self.tools.as_deref().unwrap_or_default())?;
        let mut options = self.options()?;
        let choice = self.tool_choice.as_ref();
        options.tool_choice = choice.map(|choice| tool_choice(choice, &tools)).transpose()?;
        if tools.is_empty() {
            // Model servers reject a choice without tools, also `auto` and `none`.
            options.tool_choice = None;
        }
        Ok(RequestSettings {
            model,
            instructions: None,
            tools,
            output_tokens_max: self.output_tokens_max()?,
            temperature: self.sampling_temperature()?,
            options,
        })
    }

    /// The messages, calls and results of calls.
    ///
    /// # Errors
    /// 400 with the field: one is invalid, or there are none or too many.
    pub fn facts(&self) -> Result<Vec<Fact>, Violation> {
        facts(&self.messages)
    }

    /// Whether the stream ends with a chunk with the usage.
    #[must_use]
    pub fn includes_usage(&self) -> bool {
        let options = self.stream_options.as_ref();
        options.and_then(|options| options.include_usage).unwrap_or_default()
    }
}

fn facts(messages: &RawValue) -> Result<Vec<Fact>, Violation> {
    let body = format!("{{\"messages\":{}}}", messages.get());
    let facts = formats::parse_history(Format::OpenAiChat, body.as_bytes()).map_err(malformed)?;
    let broken = |reason, rule: &str| Err(wrong(reason, "messages", rule));
    match facts.len() {
        0 => broken(ViolationReason::Missing, "is empty: send at least one"),
        1..=COMPLETION_EVENTS_MAX => Ok(facts),
        count => broken(
            ViolationReason::OutOfRange,
            &format!("has {count} messages, calls and results, the maximum is {COMPLETION_EVENTS_MAX}"),
        ),
    }
}

fn malformed(error: ParseError) -> Violation {
    match error {
        ParseError::Unusable { field, reason } => Violation::new(ViolationReason::Malformed, reason).within(field),
        ParseError::Malformed { .. } | ParseError::Failed { .. } | ParseError::Incomplete => {
            wrong(ViolationReason::Malformed, "messages", &error.to_string())
        }
    }
}

impl CompletionRequest {
    /// Rejects values that change the answer and are not supported.
    fn check_supported(&self) -> Result<(), Violation> {
        let has_audio = |modes: &Vec<String>| modes.iter().any(|mode| mode != "text");
        let given = [
            ("n", self.n.is_some_and(|n| n != 1)),
            ("logprobs", self.logprobs == Some(true)),
            ("top_logprobs", self.top_logprobs.is_some_and(|top| top > 0)),
            ("modalities", self.modalities.as_ref().is_some_and(has_audio)),
            ("audio", self.audio.is_some()),
            ("functions", self.functions.is_some()),
            ("function_call", self.function_call.is_some()),
            ("logit_bias", self.logit_bias.is_some()),
            ("web_search_options", self.web_search_options.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => Err(not_supported(name)),
            None => Ok(()),
        }
    }
}
