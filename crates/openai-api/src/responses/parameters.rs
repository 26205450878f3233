//! The parameters of a request that its response repeats. They are recorded as a note before the start of the run, so that a
//! response can be read later.

use domain::event::SystemNoted;
use domain::{Annotation, Event, Fact, Label, Violation, ViolationReason};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The topic of the note. Models and pages do not read notes.
const TOPIC: &str = "openai.response";

/// What a response repeats of its request.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Parameters {
    /// The `model` of the request.
    pub model: String,
    /// Instructions of this response.
    pub instructions: Option<String>,
    /// Metadata of the response: at most 16 pairs.
    #[schema(value_type = Object)]
    pub metadata: Box<RawValue>,
    /// The response that this one continues.
    pub previous_response_id: Option<String>,
    /// The tools.
    #[schema(value_type = Vec<Object>)]
    pub tools: Vec<Box<RawValue>>,
    /// Which tools the model may or must call.
    #[schema(value_type = Object)]
    pub tool_choice: Box<RawValue>,
    /// Whether one response may have several calls.
    pub parallel_tool_calls: bool,
    /// The form of the answer.
    #[schema(value_type = Object)]
    pub text: Box<RawValue>,
    /// Thoughts.
    #[schema(value_type = Option<Object>)]
    pub reasoning: Option<Box<RawValue>>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Maximum number of tokens of the answer.
    pub max_output_tokens: Option<u32>,
    /// `auto` or `disabled`. Contexts are always within the budget of the agent's policy.
    pub truncation: String,
    /// Whether the answer to the request does not wait for the model.
    pub background: bool,
    /// Whether the response can be read later.
    pub store: bool,
    /// The end user.
    pub user: Option<String>,
    /// The end user.
    pub safety_identifier: Option<String>,
    /// The key of the provider's cache; not used.
    pub prompt_cache_key: Option<String>,
}

/// The recorded note.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Noted {
    /// The parameters.
    pub parameters: Parameters,
    /// Whether the request names the conversation, which has other events than those of responses.
    pub names_conversation: bool,
    /// The version of the first event of the input.
    pub input_from: u64,
}

impl Noted {
    /// The fact to record.
    #[must_use]
    pub fn to_fact(&self) -> Fact {
        let text = serde_json::to_string(self).unwrap_or_default();
        Fact::from(SystemNoted { topic: Label::parse(TOPIC).ok(), text })
    }

    /// The violation of a note with more bytes than an event has.
    #[must_use]
    pub fn too_large() -> Violation {
        let rule = "and instructions have too many bytes together: shorten them";
        Violation::new(ViolationReason::EventTooLarge, rule).within("tools")
    }

    /// Reads a recorded event; `None`: it is another one.
    pub fn of(event: &Event) -> Option<Self> {
        let Fact::Annotation(Annotation::SystemNoted(noted)) = &event.fact else {
            return None;
        };
        if noted.topic.as_ref().map(Label::as_str) != Some(TOPIC) {
            return None;
        }
        serde_json::from_str(&noted.text).ok()
    }
}
