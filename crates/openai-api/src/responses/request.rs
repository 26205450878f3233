//! The body of a request.

use domain::{Violation, ViolationReason};
use formats::{RequestOptions, RequestSettings};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use utoipa::ToSchema;

use super::parameters::Parameters;
use super::text_format::response_format;
use super::tools::{tool_choice, tools};
use crate::metadata;
use crate::sampling::{SHARES, TEMPERATURES, within};
use crate::wrong_field::{not_supported, out_of_range, wrong};

/// Most bytes of a body.
pub const RESPONSE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Maximum number of items of `input`.
pub const RESPONSE_ITEMS_MAX: usize = 2_000;
/// What `include` may name that an answer of Hansard cannot have.
const LOGPROBS: &str = "message.output_text.logprobs";

/// A request of a response. Unknown fields are ignored. The agent's model server must support what is given; otherwise the answer
/// is 400.
#[derive(Debug, Deserialize, ToSchema)]
pub struct ResponseRequest {
    /// The agent, whose model answers. Not needed with a key of one agent.
    #[schema(example = "support")]
    pub model: Option<String>,
    /// A text of the user, or items, oldest first; at most 2,000.
    #[schema(value_type = Option<Object>)]
    pub input: Option<Box<RawValue>>,
    /// Instructions of this response, after those of the agent. Later responses do not inherit them.
    instructions: Option<String>,
    /// The conversation that the response continues: its id, or an object with the id. Input and output are recorded in it.
    #[schema(value_type = Option<Object>)]
    pub conversation: Option<ConversationBody>,
    /// The response that this one continues. Not together with `conversation`.
    pub previous_response_id: Option<String>,
    /// Whether the response is recorded; the default is `true`.
    store: Option<bool>,
    /// Whether to answer at once; read the response later. Needs `store`.
    background: Option<bool>,
    /// Whether the answer is streamed.
    stream: Option<bool>,
    /// The functions that the model may call, at most 128. The caller runs them. Tools of the agent's settings are not offered.
    #[schema(value_type = Option<Vec<Object>>)]
    tools: Option<Vec<Box<RawValue>>>,
    /// `auto`, `none`, `required`, one function, or the allowed functions.
    #[schema(value_type = Option<Object>)]
    tool_choice: Option<Box<RawValue>>,
    /// Whether one response may have several calls.
    parallel_tool_calls: Option<bool>,
    /// The form of the answer.
    #[schema(value_type = Option<Object>)]
    text: Option<Box<RawValue>>,
    /// The effort of thoughts, as the model server names it.
    #[schema(value_type = Option<Object>)]
    reasoning: Option<Box<RawValue>>,
    /// The sampling temperature, 0 to 2; absent: the agent's.
    temperature: Option<f64>,
    /// Nucleus sampling, 0 to 1.
    top_p: Option<f64>,
    /// Maximum number of tokens of the answer. The agent's maximum applies too.
    max_output_tokens: Option<u32>,
    /// `auto` or `disabled`. The context is always within the budget of the agent's policy.
    truncation: Option<String>,
    /// More data of the answer. Log probabilities are not supported; data of hosted tools never occurs.
    include: Option<Vec<String>>,
    /// Metadata of the response: at most 16 pairs, with keys of at most 64 characters and values of at most 512.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Box<RawValue>>,
    /// The end user; the header `x-hansard-user` takes precedence.
    pub user: Option<String>,
    /// The end user, if `user` is absent.
    pub safety_identifier: Option<String>,
    /// Repeated in the answer.
    prompt_cache_key: Option<String>,
    /// Not supported, except 0.
    top_logprobs: Option<u32>,
    #[schema(ignore)]
    prompt: Option<IgnoredAny>,
}

/// A conversation, by its id.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum ConversationBody {
    /// The id.
    Id(String),
    /// An object with the id.
    Object {
        /// The id.
        id: String,
    },
}

/// The member `reasoning`.
#[derive(Debug, Default, Deserialize)]
struct ReasoningBody {
    effort: Option<String>,
}

/// How the answer is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// When it is complete.
    Whole,
    /// As events.
    Streamed,
    /// Later: the first answer is the response in progress.
    Background,
}

impl ConversationBody {
    /// The id.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Id(id) | Self::Object { id } => id,
        }
    }
}

impl ResponseRequest {
    /// Rejects values that change the answer and are not supported, or contradict each other.
    ///
    /// # Errors
    /// 400 with the field.
    pub fn check(&self) -> Result<(), Violation> {
        let includes_logprobs = |include: &Vec<String>| include.iter().any(|name| name == LOGPROBS);
        let given = [
            ("top_logprobs", self.top_logprobs.is_some_and(|top| top > 0)),
            ("prompt", self.prompt.is_some()),
            ("include", self.include.as_ref().is_some_and(includes_logprobs)),
        ];
        if let Some((name, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
            return Err(not_supported(name));
        }
        if self.conversation.is_some() && self.previous_response_id.is_some() {
            let rule = "cannot be used together with conversation: send one of them";
            return Err(wrong(ViolationReason::Conflict, "previous_response_id", rule));
        }
        if self.background.unwrap_or_default() && !self.is_recorded() {
            let rule = "needs store: a response that is not recorded cannot be read later";
            return Err(wrong(ViolationReason::Conflict, "background", rule));
        }
        self.check_values()
    }

    /// Rejects what events of a stream cannot repeat: too many levels, numbers out of range, unpaired surrogates.
    fn check_values(&self) -> Result<(), Violation> {
        let tools = self.tools.iter().flatten().map(|tool| ("tools", tool));
        let others = [("tool_choice", &self.tool_choice), ("text", &self.text), ("reasoning", &self.reasoning)]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_ref()?)));
        for (name, value) in others.chain(tools) {
            serde_json::from_str::<Value>(value.get()).map_err(|error| {
                wrong(ViolationReason::Malformed, name, &format!("has a value that is not readable: {error}"))
            })?;
        }
        Ok(())
    }

    /// Whether the exchange is recorded. That of a conversation always is.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.store.unwrap_or(true) || self.conversation.is_some()
    }

    /// How the answer is delivered.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        if self.stream.unwrap_or_default() {
            Delivery::Streamed
        } else if self.background.unwrap_or_default() {
            Delivery::Background
        } else {
            Delivery::Whole
        }
    }

    /// What the run takes from the request; `model` is another model of the agent.
    ///
    /// # Errors
    /// 400 with the field: it is invalid, over its bound, or not supported.
    pub fn settings(&self, model: Option<String>) -> Result<RequestSettings, Violation> {
        let mut tools = tools(self.tools.as_deref().unwrap_or_default())?;
        let choice = self.tool_choice.as_deref().filter(|choice| choice.get() != "null");
        let tool_choice = choice.map(|choice| tool_choice(choice, &mut tools));
        let text = self.text.as_deref();
        Ok(RequestSettings {
            model,
            instructions: self.instructions.clone(),
            tools,
            output_tokens_max: self.output_tokens_max()?,
            temperature: within("temperature", self.temperature, TEMPERATURES)?,
            options: RequestOptions {
                tool_choice: tool_choice.transpose()?.flatten(),
                parallel_tool_calls: self.parallel_tool_calls,
                response_format: text.map(response_format).transpose()?.flatten(),
                top_p: within("top_p", self.top_p, SHARES)?,
                reasoning_effort: self.reasoning_effort()?,
                ..RequestOptions::default()
            },
        })
    }

    fn output_tokens_max(&self) -> Result<Option<u32>, Violation> {
        match self.max_output_tokens {
            Some(0) => Err(out_of_range("max_output_tokens", "is 0, the minimum is 1")),
            given => Ok(given),
        }
    }

    fn reasoning_effort(&self) -> Result<Option<String>, Violation> {
        let Some(given) = &self.reasoning else {
            return Ok(None);
        };
        let reasoning = serde_json::from_str::<Option<ReasoningBody>>(given.get()).map_err(|_| {
            let rule = "is not an object with `effort`";
            wrong(ViolationReason::Malformed, "reasoning", rule)
        })?;
        Ok(reasoning.and_then(|reasoning| reasoning.effort))
    }

    /// What the response repeats; `model` is the name that it shows.
    ///
    /// # Errors
    /// 400 with the field.
    pub fn parameters(&self, model: &str) -> Result<Parameters, Violation> {
        let truncation = self.truncation.clone().unwrap_or("disabled".to_owned());
        if !["auto", "disabled"].contains(&truncation.as_str()) {
            let rule = "must be `auto` or `disabled`";
            return Err(wrong(ViolationReason::Malformed, "truncation", rule));
        }
        let given = |value: &Option<Box<RawValue>>| {
            let value = value.as_ref().filter(|value| value.get() != "null");
            value.cloned()
        };
        Ok(Parameters {
            model: model.to_owned(),
            instructions: self.instructions.clone(),
            metadata: raw(&metadata::checked(self.metadata.as_deref())?),
            previous_response_id: self.previous_response_id.clone(),
            tools: self.tools.clone().unwrap_or_default(),
            tool_choice: given(&self.tool_choice).unwrap_or_else(|| raw("\"auto\"")),
            parallel_tool_calls: self.parallel_tool_calls.unwrap_or(true),
            text: given(&self.text).unwrap_or_else(|| raw(r#"{"format":{"type":"text"}}"#)),
            reasoning: given(&self.reasoning),
            temperature: self.temperature,
            top_p: self.top_p,
            max_output_tokens: self.max_output_tokens,
            truncation,
            background: self.background.unwrap_or_default(),
            store: self.is_recorded(),
            user: self.user.clone(),
            safety_identifier: self.safety_identifier.clone(),
            prompt_cache_key: self.prompt_cache_key.clone(),
        })
    }
}

/// A JSON text that was checked before.
fn raw(json: &str) -> Box<RawValue> {
    let raw = RawValue::from_string(json.to_owned());
    raw.or_else(|_| to_raw_value(&())).unwrap_or_default()
}
