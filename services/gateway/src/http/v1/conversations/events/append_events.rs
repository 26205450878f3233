//! `POST /v1/conversations/{id}/events`: appends events, or the messages of an OpenAI chat, as one commit.

use axum::extract::State;
use runtime::http::{HttpProblem, Json, Path};
use serde::Serialize;
use tokio::time::Instant;
use utoipa::ToSchema;
use wire::proto::write::v1 as write;

use super::append_lines::{AppendedLinesBody, Import, time_of};
use super::append_request::{AppendQuery, AppendRequest};
use super::document::AppendEventsBody;
use super::lines::Lines;
use crate::http::v1::conversations::CommitBody;
use conversations::commands::Issuer;
use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::idempotency::IdempotencyKey;
use http_listener::state::HttpState;
use runtime::http::field_names::with_member_names;

/// Most bytes of a body: 500 events of a usual size. A single event has at most 512 KiB.
pub const APPEND_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What was recorded: one commit, or the commits of lines.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum AppendedBody {
    /// The commit of a JSON document.
    Commit(CommitBody),
    /// The commits of NDJSON.
    Lines(AppendedLinesBody),
}

/// Append events to a conversation.
///
/// JSON: all of them or none are recorded, as one commit. NDJSON: one event in each line, recorded in commits of at most 500
/// events and 4 MiB of lines; each commit is recorded whole or not at all. An error names the `line`, and `recorded_lines`:
/// the lines up to that one are recorded, the others are not. A retry with the same key and the same body continues after
/// the recorded commits. The answer is sent after the commits are on disk.
#[utoipa::path(
    post,
    path = "/v1/conversations/{id}/events",
    tag = "conversations",
    params(
        ("id" = String, Path, description = "The conversation."),
        ServiceHeaders,
        AppendQuery,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries."),
    ),
    request_body(content((AppendEventsBody = "application/json"), (String = "application/x-ndjson"))),
    responses((status = 200, description = "The commit, or the commits of the lines.", body = AppendedBody)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn append_events(
    State(state): State<HttpState>,
    service: Service,
    key: IdempotencyKey,
    Path(id): Path<String>,
    request: AppendRequest,
) -> Result<Json<AppendedBody>, HttpProblem> {
    match request {
        AppendRequest::Document(body) => {
            let commit = append_document(&state, &service, key, &id, body).await?;
            Ok(Json(AppendedBody::Commit(commit)))
        }
        AppendRequest::Lines { body, expected_version } => {
            let time = time_of(state.section.server.request_timeout_ms);
            let target = service.command_target(&state, &id, None).await?;
            let import = Import {
                state: &state,
                call: &service.call,
                target: write::CommandTarget { expected_version, ..target },
                key,
                ends_at: Instant::now() + time,
                recorded: AppendedLinesBody::default(),
                last_line: 0,
            };
            import.run(Lines::new(body)).await.map(AppendedBody::Lines).map(Json)
        }
    }
}

async fn append_document(
    state: &HttpState,
    service: &Service,
    key: IdempotencyKey,
    id: &str,
    body: AppendEventsBody,
) -> Result<CommitBody, HttpProblem> {
    let expected_version = body.expected_version;
    let events = body.into_proto()?;
    let target = service.command_target(state, id, key.0).await?;
    let request = write::AppendEventsRequest {
        target: Some(write::CommandTarget { expected_version, ..target }),
        events,
        ..write::AppendEventsRequest::default()
    };
    let commit = state.commands.send(Issuer::Service(&service.call), request).await;
    Ok(commit.map(CommitBody::from).map_err(with_member_names)?)
}
