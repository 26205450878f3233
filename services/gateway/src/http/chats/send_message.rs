//! `POST /api/chats/{id}/messages`: sends a message and streams the answer.

use axum::extract::State;
use axum::response::Response;
use domain::ViolationReason;
use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::{CallerHeaders, CallerIds};
use http_listener::idempotency::IdempotencyKey;
use http_listener::state::HttpState;
use runtime::http::{HttpProblem, Json, Path, StreamSlot};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::http::turns::turn_body::{self, ApprovalBody, ToolResultBody};
use crate::http::turns::ui_answer::{StreamedEvent, UiAnswer};
use conversations::open::{OwnedChat, find_settled_chat};
use conversations::turns::start_turn::{StartedTurn, start_turn};
use conversations::turns::turn::{self, Turn};

/// A message, results of open calls, or approvals; at least one of them.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendMessageBody {
    /// The user's message, as text.
    #[schema(example = "Where is my parcel?")]
    content: Option<String>,
    /// The user's message as parts in the AI SDK's form: `{type: "text", text}` and `{type: "file", url, mediaType,
    /// filename?}`; instead of `content`.
    #[schema(value_type = Option<Vec<Object>>)]
    parts: Option<Box<RawValue>>,
    /// The client's own id of the message: a retry with the same id gets the same answer. Alternative: the header
    /// `idempotency-key`.
    client_message_id: Option<String>,
    /// Results of tools that the client runs. A call of a tool with a webhook accepts no result: it is approved or
    /// refused, see `approvals`.
    #[serde(default)]
    tool_results: Vec<ToolResultBody>,
    /// A person's decisions about calls that need an approval. Approved calls of tools with a webhook run first.
    #[serde(default)]
    approvals: Vec<ApprovalBody>,
    /// The session; also as the header `x-session-id`.
    session_id: Option<String>,
    /// The user; also as the header `x-user-id`.
    user_id: Option<String>,
}

/// Send a message and stream the answer.
///
/// The answer is a stream of server-sent events, the AI SDK's UI message stream: `data: {chunk}`, the last one is
/// `data: [DONE]`. Event ids name the run and the part: a client that loses the stream resumes it with `GET
/// /api/chats/{id}/stream`. The answer is generated and stored also without a client. If another run is active: 409
/// `RUN_ACTIVE`, with its `run_id`.
#[utoipa::path(
    post,
    path = "/api/chats/{id}/messages",
    tag = "chats",
    params(
        ("id" = String, Path, description = "The conversation."),
        CallerHeaders,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries."),
    ),
    request_body = SendMessageBody,
    responses((status = 200, description = "The stream; `x-run-id` is the id of its run.", body = StreamedEvent, content_type = "text/event-stream")),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn send_message(
    State(state): State<HttpState>,
    open: StreamSlot,
    frontend: Frontend,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Json(mut body): Json<SendMessageBody>,
) -> Result<Response, HttpProblem> {
    let ids = CallerIds { session_id: body.session_id.take(), user_id: body.user_id.take() };
    let caller = frontend.caller(&state, ids).await?;
    let client_message_id = body.client_message_id.take();
    let mut turn = parse_turn(body)?;
    turn.via = frontend.via.clone();
    let chat = find_settled_chat(&state, &caller, &id).await?;
    turn.key = key.0.or_else(|| Some(turn::key_from_message_id(&chat, client_message_id.as_deref()?)));
    stream_answer(&state, open, &chat, turn).await
}

fn parse_turn(body: SendMessageBody) -> Result<Turn, HttpProblem> {
    let mut turn = Turn::default();
    turn_body::add_results(&mut turn, body.tool_results)?;
    turn_body::add_approvals(&mut turn, body.approvals)?;
    if let Some((field, parts)) = turn_body::content(body.content, body.parts.as_deref())? {
        turn.add_user_message(field, parts);
    }
    if turn.is_empty() {
        let detail = "content is required, or parts, toolResults or approvals";
        return Err(HttpProblem::of_field(ViolationReason::Missing, "content", detail));
    }
    Ok(turn)
}

/// Starts a run for the turn and streams it to a page that shows all earlier messages.
pub(in crate::http) async fn stream_answer(
    state: &HttpState,
    open: StreamSlot,
    chat: &OwnedChat,
    turn: Turn,
) -> Result<Response, HttpProblem> {
    let StartedTurn { run, ui } = start_turn(state, chat, turn).await?;
    let answer = state.answer(&chat.target.key, run).await?;
    Ok(UiAnswer::whole(ui, state.disclosure(&chat.target.access.agent)).respond(answer, open))
}
