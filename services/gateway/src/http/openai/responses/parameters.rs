//! The parameters of a request that its response repeats. They are recorded as a note before the start of the run, so that a
//! response can be read later.

use domain::event::SystemNoted;
use domain::{Annotation, Event, Fact, Label, NewEvent, Violation, ViolationReason};
use runtime::http::HttpProblem;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use conversations::generation::run_parts::fits_an_event;

/// The topic of the note. Models and pages do not read notes.
const TOPIC: &str = "openai.response";

/// What a response repeats of its request.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Parameters {
    /// The `model` of the request.
    pub(super) model: String,
    /// Instructions of this response.
    pub(super) instructions: Option<String>,
    /// Metadata of the response: at most 16 pairs.
    #[schema(value_type = Object)]
    pub(super) metadata: Box<RawValue>,
    /// The response that this one continues.
    pub(super) previous_response_id: Option<String>,
    /// The tools.
    #[schema(value_type = Vec<Object>)]
    pub(super) tools: Vec<Box<RawValue>>,
    /// Which tools the model may or must call.
    #[schema(value_type = Object)]
    pub(super) tool_choice: Box<RawValue>,
    /// Whether one response may have several calls.
    pub(super) parallel_tool_calls: bool,
    /// The form of the answer.
    #[schema(value_type = Object)]
    pub(super) text: Box<RawValue>,
    /// Thoughts.
    #[schema(value_type = Option<Object>)]
    pub(super) reasoning: Option<Box<RawValue>>,
    /// The sampling temperature.
    pub(super) temperature: Option<f64>,
    /// Nucleus sampling.
    pub(super) top_p: Option<f64>,
    /// Maximum number of tokens of the answer.
    pub(super) max_output_tokens: Option<u32>,
    /// `auto` or `disabled`. Contexts are always within the budget of the agent's policy.
    pub(super) truncation: String,
    /// Whether the answer to the request does not wait for the model.
    pub(super) background: bool,
    /// Whether the response can be read later.
    pub(super) store: bool,
    /// The end user.
    pub(super) user: Option<String>,
    /// The end user.
    pub(super) safety_identifier: Option<String>,
    /// The key of the provider's cache; not used.
    pub(super) prompt_cache_key: Option<String>,
}

/// The recorded note.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Noted {
    /// The parameters.
    pub(super) parameters: Parameters,
    /// Whether the request names the conversation, which has other events than those of responses.
    pub(super) names_conversation: bool,
    /// The version of the first event of the input.
    pub(super) input_from: u64,
}

impl Noted {
    /// The event to record.
    ///
    /// # Errors
    /// 400: tools and instructions have too many bytes together.
    pub(super) fn to_event(&self) -> Result<NewEvent, HttpProblem> {
        let text = serde_json::to_string(self).unwrap_or_default();
        let noted = SystemNoted { topic: Label::parse(TOPIC).ok(), text };
        let fact = Fact::from(noted);
        if !fits_an_event(&fact) {
            let rule = "and instructions have too many bytes together: shorten them";
            let violation = Violation::new(ViolationReason::EventTooLarge, rule);
            return Err(HttpProblem::from(violation.within("tools")));
        }
        Ok(NewEvent::from(fact))
    }

    /// Reads a recorded event; `None`: it is another one.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let Fact::Annotation(Annotation::SystemNoted(noted)) = &event.fact else {
            return None;
        };
        if noted.topic.as_ref().map(Label::as_str) != Some(TOPIC) {
            return None;
        }
        serde_json::from_str(&noted.text).ok()
    }
}
