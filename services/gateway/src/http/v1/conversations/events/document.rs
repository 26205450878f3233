//! The JSON document of an append: events, or the messages of an OpenAI chat, as one commit.

use domain::{Violation, ViolationReason};
use formats::Format;
use runtime::http::HttpProblem;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::proto::event::v1 as event;

use crate::http::v1::new_events::new_event::NewEventBody;

/// What to append: `events` or `messages`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AppendEventsBody {
    /// The events, in order; 1 to 500.
    events: Option<Vec<NewEventBody>>,
    /// Messages of an OpenAI chat completion, in order, with tool calls and the messages of tools; 1 to 500 events.
    #[schema(value_type = Option<Vec<Object>>)]
    messages: Option<Box<RawValue>>,
    /// With `messages`: the metadata of each event: an object, at most 64 KiB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Box<RawValue>>,
    /// The version that the conversation must have: 409 `VERSION_CONFLICT` with the current version otherwise. Absent: any.
    pub(super) expected_version: Option<u64>,
}

impl AppendEventsBody {
    /// The events as the writer takes them.
    ///
    /// # Errors
    /// 400: a member is missing or malformed, or members exclude each other.
    pub(super) fn into_proto(self) -> Result<Vec<event::Event>, HttpProblem> {
        let events = match (self.events, self.messages, self.metadata) {
            (Some(events), None, None) => typed(events),
            (None, Some(messages), metadata) => chat(&messages, metadata.as_deref()),
            (None, None, _) => {
                let detail = "is missing: send events or messages";
                return Err(HttpProblem::of_field(ViolationReason::Missing, "events", detail));
            }
            (Some(_), Some(_), _) => {
                let detail = "is given beside events: send one of them";
                return Err(HttpProblem::of_field(ViolationReason::Conflict, "messages", detail));
            }
            (Some(_), None, Some(_)) => {
                let detail = "is given beside events: set it on each event";
                return Err(HttpProblem::of_field(ViolationReason::Conflict, "metadata", detail));
            }
        };
        events.map_err(HttpProblem::from)
    }
}

fn typed(events: Vec<NewEventBody>) -> Result<Vec<event::Event>, Violation> {
    let events = events
        .into_iter()
        .enumerate()
        .map(|(index, event)| event.into_proto().map_err(|violation| violation.at(index).within("events")));
    events.collect()
}

fn chat(messages: &RawValue, metadata: Option<&RawValue>) -> Result<Vec<event::Event>, Violation> {
    let body = format!("{{\"messages\":{}}}", messages.get());
    let facts = formats::parse_history(Format::OpenAiChat, body.as_bytes())
        .map_err(|error| Violation::new(ViolationReason::Malformed, error.to_string()).within("messages"))?;
    let metadata_json = metadata.map(RawValue::get).unwrap_or_default();
    let events = facts
        .iter()
        .map(|fact| event::Event { metadata_json: metadata_json.to_owned(), ..wire::event::fact_to_proto(fact) });
    Ok(events.collect())
}
