//! `POST /v1/conversations/{id}/events`: appends events, or the messages of an OpenAI chat, as one commit.

use axum::extract::State;
use domain::{Violation, ViolationReason};
use formats::Format;
use runtime::http::{HttpProblem, Json, Path};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::proto::event::v1 as event;
use wire::proto::write::v1 as write;

use crate::http::body::NewEventBody;
use crate::http::callers::service::{Service, ServiceHeaders};
use crate::http::commands::{result_for_caller, with_field};
use crate::http::idempotency::IdempotencyKey;
use crate::http::problem;
use crate::http::state::HttpState;
use crate::http::v1::conversations::CommitBody;

/// Most bytes of a body: 500 events of a usual size. A single event has at most 512 KiB.
pub const APPEND_BYTES_MAX: usize = 4 * 1024 * 1024;

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
    expected_version: Option<u64>,
}

/// Append events to a conversation.
///
/// All of them or none are recorded, as one commit. The answer is sent after the commit is on disk.
#[utoipa::path(
    post,
    path = "/v1/conversations/{id}/events",
    tag = "conversations",
    params(
        ("id" = String, Path, description = "The conversation."),
        ServiceHeaders,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries."),
    ),
    request_body = AppendEventsBody,
    responses((status = 200, description = "The commit.", body = CommitBody)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn append_events(
    State(state): State<HttpState>,
    service: Service,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Json(body): Json<AppendEventsBody>,
) -> Result<Json<CommitBody>, HttpProblem> {
    let expected_version = body.expected_version;
    let events = body.into_proto()?;
    let target = service.command_target(&state, &id, key.text()).await?;
    let request = write::AppendEventsRequest {
        target: Some(write::CommandTarget {
            expected_version,
            ..target
        }),
        events,
    };
    let mut writer = state.commands.write_for(&service.call);
    let answer = writer.append_events(request).await;
    result_for_caller(answer, |answer| answer.result)
        .map(|result| Json(result.into()))
        .map_err(with_member_names)
}

impl AppendEventsBody {
    fn into_proto(self) -> Result<Vec<event::Event>, HttpProblem> {
        let events = match (self.events, self.messages, self.metadata) {
            (Some(events), None, None) => typed(events),
            (None, Some(messages), metadata) => chat(&messages, metadata.as_deref()),
            (None, None, _) => {
                let detail = "is missing: send events or messages";
                return Err(HttpProblem::of_field("FIELD_MISSING", "events", detail));
            }
            (Some(_), Some(_), _) => {
                let detail = "is given beside events: send one of them";
                return Err(HttpProblem::of_field("FIELD_CONFLICT", "messages", detail));
            }
            (Some(_), None, Some(_)) => {
                let detail = "is given beside events: set it on each event";
                return Err(HttpProblem::of_field("FIELD_CONFLICT", "metadata", detail));
            }
        };
        events.map_err(problem::from_violation)
    }
}

fn typed(events: Vec<NewEventBody>) -> Result<Vec<event::Event>, Violation> {
    let events = events.into_iter().enumerate().map(|(index, event)| {
        let event = event.into_proto();
        event.map_err(|violation| violation.at(index).within("events"))
    });
    events.collect()
}

fn chat(messages: &RawValue, metadata: Option<&RawValue>) -> Result<Vec<event::Event>, Violation> {
    let body = format!("{{\"messages\":{}}}", messages.get());
    let facts = formats::parse_history(Format::OpenAiChat, body.as_bytes());
    let facts = facts.map_err(|error| {
        Violation::new(ViolationReason::Malformed, error.to_string()).within("messages")
    })?;
    let metadata_json = metadata.map(RawValue::get).unwrap_or_default();
    let events = facts.iter().map(|fact| event::Event {
        metadata_json: metadata_json.to_owned(),
        ..wire::event::fact_to_proto(fact)
    });
    Ok(events.collect())
}

/// Names in the writer's paths of fields that JSON does not have: the fact of an event, and the kind of a part.
const WRAPPERS: [&str; 13] = [
    "message_appended",
    "tool_called",
    "tool_returned",
    "system_noted",
    "error_occurred",
    "history_summarised",
    "history_rewound",
    "image",
    "file",
    "thinking",
    "provider_item",
    "source",
    "fact",
];

/// Replaces the writer's path of an event's field by the caller's: `events[0].tool_called.call_id` by `events[0].callId`.
fn with_member_names(problem: HttpProblem) -> HttpProblem {
    match problem.field.as_deref().map(member_path) {
        Some(members) => with_field(problem, &members),
        None => problem,
    }
}

fn member_path(field: &str) -> String {
    let names = field.split('.').filter(|name| !WRAPPERS.contains(name));
    let names: Vec<String> = names.map(member).collect();
    names.join(".")
}

/// `input_json` is `input`, `to_version` is `to`, `call_id` is `callId`.
fn member(field: &str) -> String {
    let field = field.strip_suffix("_json").unwrap_or(field);
    let field = match field {
        "through_version" | "to_version" => field.trim_end_matches("_version"),
        _ => field,
    };
    let mut words = field.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut name, word| {
        let mut letters = word.chars();
        name.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        name.push_str(letters.as_str());
        name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_names_of_members() {
        for (field, expected) in [
            ("events", "events"),
            ("events[3].tool_called.call_id", "events[3].callId"),
            ("events[0].metadata_json", "events[0].metadata"),
            (
                "events[1].message_appended.parts[2].image.source.url",
                "events[1].parts[2].url",
            ),
            (
                "events[0].tool_returned.output_parts[1].text",
                "events[0].outputParts[1].text",
            ),
            ("events[0].history_rewound.to_version", "events[0].to"),
            ("idempotency-key", "idempotency-key"),
        ] {
            assert_eq!(member_path(field), expected);
        }
    }
}
