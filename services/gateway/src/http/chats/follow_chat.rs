//! `GET /api/chats/{id}/stream`: streams the active run.

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use domain::{RunId, ViolationReason};
use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::CallerHeaders;
use http_listener::state::HttpState;
use runs::sse::PartId;
use runs::{UiMessage, UiStream, replay};
use runtime::http::{HttpProblem, Path, Query, StreamSlot};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::turns::ui_answer::{StreamedEvent, UiAnswer};
use conversations::answer::Answer;
use conversations::open::OwnedChat;
use conversations::turns::last_turn;
use http_listener::sse::LAST_EVENT_ID;

/// Where the stream starts.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FollowQuery {
    /// The first part of the run in `run`; absent: the one after `Last-Event-ID`, or the first.
    from: Option<u64>,
    /// The run, as in `x-run-id`; absent: that of `Last-Event-ID`, or the active one. A finished run can be streamed
    /// while its parts are stored.
    run: Option<String>,
}

/// Where a client wants the stream to start: its query, and the last event that it received.
#[derive(Debug, Default)]
pub(in crate::http) struct FollowRequest {
    query: FollowQuery,
    last: Option<LastEvent>,
}

/// The last event that a client received. Earlier versions used numbers as ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastEvent {
    /// A part of a run.
    Part(PartId),
    /// A part of the run in the query.
    Number(u64),
}

/// Where the stream starts: the run and its first part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Start {
    run: RunId,
    from: u64,
}

impl<S: Sync> FromRequestParts<S> for FollowRequest {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let Query(query) = Query::from_request_parts(parts, state).await?;
        let last = parts
            .headers
            .get(LAST_EVENT_ID)
            .map(HeaderValue::as_bytes)
            .filter(|last| !last.is_empty())
            .map(parse_last_event)
            .transpose()?;
        Ok(Self { query, last })
    }
}

fn parse_last_event(text: &[u8]) -> Result<LastEvent, HttpProblem> {
    let text = std::str::from_utf8(text).ok();
    let part = text.and_then(PartId::parse).map(LastEvent::Part);
    let number = || text?.parse().ok().map(LastEvent::Number);
    part.or_else(number).ok_or_else(|| {
        let detail = "the header last-event-id is not the id of an event: leave it out to get all events";
        HttpProblem::of_field(ViolationReason::Malformed, LAST_EVENT_ID, detail)
    })
}

/// Stream the active run.
///
/// The stream starts at the first part, or resumes after the part of `Last-Event-ID`, on any gateway. If that run
/// cannot be resumed, the active run is streamed from its start. 204 if no run is active: the messages are complete.
/// The events are those of `POST /api/chats/{id}/messages`.
#[utoipa::path(
    get,
    path = "/api/chats/{id}/stream",
    tag = "chats",
    params(
        ("id" = String, Path, description = "The conversation."),
        CallerHeaders,
        FollowQuery,
        ("last-event-id" = Option<String>, Header, description = "The id of the last event that was received: `<run>:<part>`."),
    ),
    responses(
        (status = 200, description = "The stream.", body = StreamedEvent, content_type = "text/event-stream"),
        (status = 204, description = "No run is active."),
    ),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn follow_chat(
    State(state): State<HttpState>,
    open: StreamSlot,
    frontend: Frontend,
    Path(id): Path<String>,
    request: FollowRequest,
) -> Result<Response, HttpProblem> {
    let chat = frontend.chat(&state, &id).await?;
    let active = chat.conversation.head.active_run.map(|run| run.id);
    let named = request.query.run.as_deref().map(RunId::parse).transpose().map_err(|wrong| wrong.within("run"))?;
    let start = match named {
        Some(run) => Some(start_of_named_run(run, &request)),
        None => start_without_run(&state, &chat, request.last, active).await?,
    };
    let Some(Start { run, from }) = start else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let continued = last_turn::continued_message(&state, &chat, run).await?;
    let mut answer = follow(&state, &chat, run).await?;
    // The parts of a finished run are available immediately, or not at all.
    if Some(run) != active && !answer.is_stored().await {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let approvals = state.approvals(&chat.target.access.agent);
    let ui = UiStream::new(run, continued.as_ref(), approvals);
    let ui_answer = UiAnswer {
        disclosure: state.disclosure(&chat.target.access.agent),
        opening: opening(&ui, continued.as_ref(), from),
        ui,
        after: from.saturating_sub(1),
    };
    Ok(ui_answer.respond(answer, open))
}

/// Where the stream of a named run starts.
fn start_of_named_run(run: RunId, request: &FollowRequest) -> Start {
    let after = match request.last {
        Some(LastEvent::Part(part)) if part.run != run => None,
        Some(LastEvent::Part(PartId { part, .. }) | LastEvent::Number(part)) => Some(part.saturating_add(1)),
        None => None,
    };
    let from = request.query.from.or(after).unwrap_or(1).max(1);
    Start { run, from }
}

/// Where the stream starts if the query names no run: the rest of the run of the last event, or the active run from its
/// start.
async fn start_without_run(
    state: &HttpState,
    chat: &OwnedChat,
    last: Option<LastEvent>,
    active: Option<RunId>,
) -> Result<Option<Start>, HttpProblem> {
    if let Some(LastEvent::Part(part)) = last {
        let is_active = Some(part.run) == active;
        if is_active || follow(state, chat, part.run).await?.has_more(part.part).await {
            return Ok(Some(Start { run: part.run, from: part.part.saturating_add(1) }));
        }
    }
    Ok(active.map(|run| Start { run, from: 1 }))
}

async fn follow(state: &HttpState, chat: &OwnedChat, run: RunId) -> Result<Answer, HttpProblem> {
    state.answer(&chat.target.key, run).await.map_err(HttpProblem::from)
}

/// A client that starts at the first part discards what it has of the message.
fn opening(ui: &UiStream, continued: Option<&UiMessage>, from: u64) -> Vec<runs::UiChunk> {
    match continued {
        _ if from > 1 => Vec::new(),
        Some(message) => replay(message),
        None => vec![ui.start_chunk()],
    }
}
