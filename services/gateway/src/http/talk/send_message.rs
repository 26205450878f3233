//! `POST /api/chats/{id}/messages`: say something, and hear the answer as it is made.

use axum::extract::State;
use axum::response::Response;
use futures::StreamExt as _;
use runtime::http::{HttpProblem, Json, OpenStream, Path};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::status::Problem;

use super::listener::{Listener, StreamedEvent};
use super::said::{self, ApprovalBody, ToolResultBody};
use super::settled::settled;
use super::turn::{self, Begun, Turn};
use super::{approvers, client_results, refusal};
use crate::http::frontend::{CallerHeaders, Frontend, Named};
use crate::http::idempotency::IdempotencyKey;
use crate::http::owned_chat::{Owned, owned_latest};
use crate::http::problem;
use crate::http::state::HttpState;

/// What is said: a message, results of open calls, consents to calls that wait for one; at least one of them.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendMessageBody {
    /// What the user says, as text.
    #[schema(example = "Where is my parcel?")]
    content: Option<String>,
    /// What the user says, in parts as the AI SDK writes them: `{type: "text", text}` and
    /// `{type: "file", url, mediaType, filename?}`; instead of `content`.
    #[schema(value_type = Option<Vec<Object>>)]
    parts: Option<Box<RawValue>>,
    /// The client's own id of the message: a retry with the same hears the same answer. The header `idempotency-key` says it
    /// instead.
    client_message_id: Option<String>,
    /// What tools of the client's have answered. Calls of a tool that has a webhook are answered by that alone: they can be
    /// approved or refused, see `approvals`.
    #[serde(default)]
    tool_results: Vec<ToolResultBody>,
    /// What a person says of calls that wait for consent. Approved calls run at their webhook first, if they have one.
    #[serde(default)]
    approvals: Vec<ApprovalBody>,
    /// The session; also as the header `x-session-id`.
    session_id: Option<String>,
    /// The user; also as the header `x-user-id`.
    user_id: Option<String>,
}

/// Say something, and hear the answer.
///
/// The answer is a stream of server-sent events, the AI SDK's UI message stream: `data: {chunk}`, the last `data: [DONE]`.
/// Event ids name the run and the part: who loses the stream goes on with `GET /api/chats/{id}/stream`. The answer is made and
/// kept whether anyone listens or not. While another is being made: 409 `RUN_ACTIVE`, with its `run_id`.
#[utoipa::path(
    post,
    path = "/api/chats/{id}/messages",
    tag = "chats",
    params(
        ("id" = String, Path, description = "The conversation."),
        CallerHeaders,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that names this request for all of its retries."),
    ),
    request_body = SendMessageBody,
    responses((status = 200, description = "The answer, as it is made; `x-run-id` names its run.", body = StreamedEvent, content_type = "text/event-stream")),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn send_message(
    State(state): State<HttpState>,
    open: OpenStream,
    frontend: Frontend,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Json(mut body): Json<SendMessageBody>,
) -> Result<Response, HttpProblem> {
    let named = Named {
        session_id: body.session_id.take(),
        user_id: body.user_id.take(),
    };
    let caller = frontend.caller(&state, named).await?;
    let client_message_id = body.client_message_id.take();
    let mut turn = turn_of(body)?;
    turn.via = frontend.via.clone();
    let chat = owned_latest(&state, &caller, &id).await?;
    turn.key = key
        .0
        .or_else(|| Some(turn::key_of(&chat, client_message_id.as_deref()?)));
    let chat = if turn.answers_calls() {
        settled(&state, chat).await?
    } else {
        chat
    };
    answer(&state, open, &chat, turn).await
}

fn turn_of(body: SendMessageBody) -> Result<Turn, HttpProblem> {
    let refused = |wrong| problem::of(Problem::from(wrong));
    let mut turn = Turn::default();
    said::add_results(&mut turn, body.tool_results).map_err(refused)?;
    said::add_approvals(&mut turn, body.approvals).map_err(refused)?;
    if let Some((field, parts)) =
        said::content(body.content, body.parts.as_deref()).map_err(refused)?
    {
        turn.say(field, parts);
    }
    if turn.is_empty() {
        let detail = "content is required, or parts, toolResults or approvals";
        return Err(HttpProblem::of_field("FIELD_MISSING", "content", detail));
    }
    Ok(turn)
}

/// Has the turn answered, and tells the answer to a page that knows all that was before it.
pub(super) async fn answer(
    state: &HttpState,
    open: OpenStream,
    chat: &Owned,
    turn: Turn,
) -> Result<Response, HttpProblem> {
    let Begun { run, ui } = begun(state, chat, turn).await?;
    let parts = state.generations.follow(&chat.target.key, run, 1).await;
    let listener = Listener {
        run: Some(run),
        parts: parts.map_err(problem::of)?.boxed(),
        finished: state.finished(&chat.target.key, run),
        opening: vec![ui.opening()],
        ui,
        after: 0,
    };
    Ok(listener.respond(open))
}

/// Has the turn answered, once it is clear that what it says of calls is its caller's to say.
///
/// # Errors
/// As [`approvers::check`], [`client_results::check`] and [`turn::begin`]; 409 `TOOL_CALL_NOT_OPEN`.
pub(super) async fn begun(
    state: &HttpState,
    chat: &Owned,
    turn: Turn,
) -> Result<Begun, HttpProblem> {
    approvers::check(state, chat, &turn)?;
    check_open(chat, &turn)?;
    client_results::check(state, chat, &turn).await?;
    turn::begin(state, chat, turn).await
}

/// Consent is to a call that waits; who retries may come after it was answered.
fn check_open(chat: &Owned, turn: &Turn) -> Result<(), HttpProblem> {
    let open = &chat.conversation.head.open_calls;
    let waits = |call: &domain::CallId| open.iter().any(|open| open.call_id == *call);
    if turn.key.is_some() || turn.approved.iter().all(waits) {
        return Ok(());
    }
    Err(refusal::call_not_open())
}
