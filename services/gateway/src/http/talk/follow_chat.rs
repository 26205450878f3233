//! `GET /api/chats/{id}/stream`: hear the answer that is being made.

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use domain::RunId;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use runs::sse::PartId;
use runs::{UiMessage, UiStream, replay};
use runtime::http::{HttpProblem, OpenStream, Path, Query};
use serde::Deserialize;
use utoipa::IntoParams;
use wire::status::Problem;

use super::behind;
use super::listener::{Listener, StreamedEvent};
use crate::generation::Followed;
use crate::http::frontend::{CallerHeaders, Frontend};
use crate::http::owned_chat::{Owned, asked};
use crate::http::problem;
use crate::http::state::HttpState;

/// The header in which browsers name the last event that they have.
const LAST_EVENT_ID: &str = "last-event-id";

/// From where to hear it.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FollowQuery {
    /// The first part to hear of the run that `run` names; absent: the one after `Last-Event-ID`, or the first.
    from: Option<u64>,
    /// The run to hear, as `x-run-id` said; absent: that of `Last-Event-ID`, or the one that goes on. One that is over is told
    /// as long as its parts are kept.
    run: Option<String>,
}

/// What a client wants to hear: what its query says, and which part it heard last.
#[derive(Debug, Default)]
pub(in crate::http) struct Wanted {
    query: FollowQuery,
    last: Option<Heard>,
}

/// What a client heard last. Ids were numbers alone once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// A part of a run.
    Part(PartId),
    /// A part of the run that the query names.
    Number(u64),
}

/// What is told: of which run, and from which part on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Telling {
    run: RunId,
    from: u64,
}

impl<S: Sync> FromRequestParts<S> for Wanted {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let Query(query) = Query::from_request_parts(parts, state).await?;
        let last = parts.headers.get(LAST_EVENT_ID).map(HeaderValue::as_bytes);
        let last = last
            .filter(|last| !last.is_empty())
            .map(heard)
            .transpose()?;
        Ok(Self { query, last })
    }
}

fn heard(text: &[u8]) -> Result<Heard, HttpProblem> {
    let text = std::str::from_utf8(text).ok();
    let part = text.and_then(PartId::parse).map(Heard::Part);
    let number = || text?.parse().ok().map(Heard::Number);
    part.or_else(number).ok_or_else(|| {
        let detail = "the header last-event-id is no id of an event: leave it out to hear all";
        HttpProblem::of_field("FIELD_MALFORMED", LAST_EVENT_ID, detail)
    })
}

/// Hear the answer that is being made.
///
/// From its beginning, or from where the client lost it, on whichever gateway: the rest of the run that `Last-Event-ID` names
/// while that can be read, else the answer that is being made from its beginning. 204 where none is: the messages are complete
/// then. The events are those of `POST /api/chats/{id}/messages`.
#[utoipa::path(
    get,
    path = "/api/chats/{id}/stream",
    tag = "chats",
    params(
        ("id" = String, Path, description = "The conversation."),
        CallerHeaders,
        FollowQuery,
        ("last-event-id" = Option<String>, Header, description = "The id of the event that was heard last: `<run>:<part>`."),
    ),
    responses(
        (status = 200, description = "The answer, as it is made.", body = StreamedEvent, content_type = "text/event-stream"),
        (status = 204, description = "None is being made."),
    ),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn follow_chat(
    State(state): State<HttpState>,
    open: OpenStream,
    frontend: Frontend,
    Path(id): Path<String>,
    wanted: Wanted,
) -> Result<Response, HttpProblem> {
    let chat = asked(&state, &frontend, &id).await?;
    follow(&state, open, &chat, wanted).await
}

/// Tells what is being answered in a chat.
pub(super) async fn follow(
    state: &HttpState,
    open: OpenStream,
    chat: &Owned,
    wanted: Wanted,
) -> Result<Response, HttpProblem> {
    let active = chat.conversation.head.active_run.map(|run| run.id);
    let named = wanted.query.run.as_deref().map(RunId::parse).transpose();
    let named = named.map_err(|wrong| problem::of(Problem::from(wrong.within("run"))))?;
    let telling = match named {
        Some(run) => Some(of_named(run, &wanted)),
        None => of_heard(state, chat, wanted.last, active).await?,
    };
    let Some(Telling { run, from }) = telling else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let continued = behind::of_run(state, chat, run).await?;
    let parts = state.generations.follow(&chat.target.key, run, 1).await;
    let mut parts = parts.map_err(problem::of)?.boxed();
    if Some(run) != active {
        // What is over is there at once, or not at all.
        match parts.next().await {
            Some(Followed::Part(first)) => parts = with_first(first, parts),
            Some(Followed::Gone) | None => return Ok(StatusCode::NO_CONTENT.into_response()),
        }
    }
    let approvals = state.approvals(&chat.target.access.agent);
    let ui = UiStream::new(run, continued.as_ref(), approvals);
    let listener = Listener {
        run: Some(run),
        parts,
        finished: state.finished(&chat.target.key, run),
        opening: opening(&ui, continued.as_ref(), from),
        ui,
        after: from.saturating_sub(1),
    };
    Ok(listener.respond(open))
}

/// From where a run is told that the client names.
fn of_named(run: RunId, wanted: &Wanted) -> Telling {
    let after = match wanted.last {
        Some(Heard::Part(heard)) if heard.run != run => None,
        Some(Heard::Part(PartId { part, .. }) | Heard::Number(part)) => {
            Some(part.saturating_add(1))
        }
        None => None,
    };
    let from = wanted.query.from.or(after).unwrap_or(1).max(1);
    Telling { run, from }
}

/// What is told to a client that names no run: the rest of the one that it heard, or else the one that goes on, which it has
/// heard nothing of.
async fn of_heard(
    state: &HttpState,
    chat: &Owned,
    last: Option<Heard>,
    active: Option<RunId>,
) -> Result<Option<Telling>, HttpProblem> {
    if let Some(Heard::Part(heard)) = last {
        let is_active = Some(heard.run) == active;
        if is_active || has_more(state, chat, heard).await? {
            return Ok(Some(Telling {
                run: heard.run,
                from: heard.part.saturating_add(1),
            }));
        }
    }
    Ok(active.map(|run| Telling { run, from: 1 }))
}

/// Whether a run that is over has parts after one, and all before them can still be read.
async fn has_more(state: &HttpState, chat: &Owned, heard: PartId) -> Result<bool, HttpProblem> {
    let key = &chat.target.key;
    let parts = state.generations.follow(key, heard.run, 1).await;
    let mut parts = parts.map_err(problem::of)?.boxed();
    while let Some(Followed::Part(part)) = parts.next().await {
        if part.number > heard.part {
            return Ok(true);
        }
    }
    Ok(false)
}

fn with_first(
    first: domain::RunPart,
    rest: BoxStream<'static, Followed>,
) -> BoxStream<'static, Followed> {
    let first = futures::stream::once(async move { Followed::Part(first) });
    first.chain(rest).boxed()
}

/// Who hears it from its beginning throws away what they have of the message.
fn opening(ui: &UiStream, continued: Option<&UiMessage>, from: u64) -> Vec<runs::UiChunk> {
    match continued {
        _ if from > 1 => Vec::new(),
        Some(message) => replay(message),
        None => vec![ui.opening()],
    }
}
