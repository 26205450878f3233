//! `POST /api/chat`: the AI SDK sends a message and streams the answer.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use domain::event::Role;
use domain::head::OpenCall;
use domain::{Fact, ViolationReason};
use runs::ui_message::UiRole;
use runs::{ChatRequest, InstructionRole, ToolAnswer, Trigger, UiMessage};
use runtime::http::{HttpProblem, Json, StreamSlot, parse_json};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::proto::event::v1::ClientContext;

use crate::http::chats::create_chat::ClientContextBody;
use crate::http::chats::send_message::stream_answer;
use crate::http::turns::ui_answer::StreamedEvent;
use conversations::create::{NewChat, create};
use conversations::identity::Caller;
use conversations::open::{OwnedChat, find_settled_chat};
use conversations::quotas::account::RequestSource;
use conversations::turns::permissions::{AllowedRoles, Webhooks};
use conversations::turns::turn::{self, Turn};
use conversations::turns::{last_turn, problems, rewind_version};
use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::{CallerHeaders, CallerIds};
use http_listener::idempotency::IdempotencyKey;
use http_listener::state::HttpState;
use wire::status::Reason;

/// Maximum number of bytes of a request, which contains the page's whole history.
pub const UI_REQUEST_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The request of the AI SDK's chat: `{id, messages, trigger, messageId}`, and `sessionId` or `userId` if the transport
/// adds them to the body.
#[derive(Debug, ToSchema)]
#[schema(as = UiChatRequest)]
#[expect(dead_code, reason = "describes the body, which is read by `runs`")]
pub struct SendUiMessagesBody {
    /// The chat; it is created with its first message.
    #[schema(example = "0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11")]
    id: String,
    /// The page's messages. Only the last message of the user, and the last assistant's message with its results and
    /// approvals, are read. Roles other than `user` and `assistant` are rejected with 403 `ROLE_NOT_ALLOWED`, unless
    /// the agent's settings allow them.
    #[schema(value_type = Vec<Object>)]
    messages: Vec<()>,
    /// `submit-message` or `regenerate-message`.
    trigger: Option<String>,
    /// The message that is edited or regenerated.
    #[schema(rename = "messageId")]
    message_id: Option<String>,
    /// The title of a chat that this message creates, at most 1,024 bytes.
    title: Option<String>,
    /// The client of a chat that this message creates.
    context: Option<ClientContextBody>,
}

/// What a chat that is created has in addition. The transport of the AI SDK adds such members with its option `body`.
#[derive(Debug, Deserialize)]
struct NewChatMembers {
    title: Option<String>,
    context: Option<ClientContextBody>,
}

/// Send a message as the AI SDK's chat does, and stream the answer.
///
/// The chat is created with its first message, owned by the caller. Results and approvals in the last assistant's
/// message are accepted if their calls are open; results of tools with a webhook are not. If a message is edited, or an
/// answer is regenerated, the chat is rewound to before it: the later messages stay in the record and in exports, but
/// are not shown and not read by the model.
#[utoipa::path(
    post,
    path = "/api/chat",
    tag = "ai-sdk",
    params(
        CallerHeaders,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries; without one, the id of the user's message is used."),
    ),
    request_body = SendUiMessagesBody,
    responses((status = 200, description = "The stream; `x-run-id` is the id of its run.", body = StreamedEvent, content_type = "text/event-stream")),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn send_ui_messages(
    State(state): State<HttpState>,
    open: StreamSlot,
    frontend: Frontend,
    key: IdempotencyKey,
    Json(body): Json<Box<RawValue>>,
) -> Result<Response, HttpProblem> {
    let request = ChatRequest::parse(body.get().as_bytes())?;
    // Members with these names that are not texts name no caller.
    let ids = serde_json::from_str::<CallerIds>(body.get()).unwrap_or_default();
    let caller = frontend.caller(&state, ids).await?;
    check_instructions(&state, &caller, &request)?;
    let Some(id) = request.chat_id.as_deref().filter(|id| !id.is_empty()) else {
        let detail = "id is required: send the id of the chat";
        return Err(HttpProblem::of_field(ViolationReason::Missing, "id", detail));
    };
    let is_new = matches!(request.trigger, Trigger::Submit { message_id: None });
    let is_new = is_new && request.user_message.is_some();
    let chat = if is_new {
        get_or_create_chat(&state, &caller, &frontend.via, id, &body).await?
    } else {
        find_settled_chat(&state, &caller, id).await?
    };
    let mut turn = turn_of(&state, &chat, request).await?;
    turn.key = key.0.or(turn.key);
    turn.via = frontend.via;
    stream_answer(&state, open, &chat, turn).await
}

/// The caller's chat with this id, created if it does not exist.
///
/// # Errors
/// 404 if the id is someone else's, 400 if it, the title or the context is invalid; 503.
async fn get_or_create_chat(
    state: &HttpState,
    caller: &Caller,
    via: &RequestSource,
    id: &str,
    body: &RawValue,
) -> Result<OwnedChat, HttpProblem> {
    let missing = match find_settled_chat(state, caller, id).await {
        Err(problem) if problem.reason() == Reason::ConversationNotFound => problem,
        found => return Ok(found?),
    };
    let members: NewChatMembers = parse_json(body.get().as_bytes())?;
    let chat = NewChat {
        id: id.to_owned(),
        title: members.title.unwrap_or_default(),
        context: members.context.map(ClientContext::from),
        ..NewChat::default()
    };
    match create(state, caller, via, chat, None).await.map_err(HttpProblem::from) {
        Ok(_) => Ok(find_settled_chat(state, caller, id).await?),
        // It is someone else's, was erased, or was created by a concurrent request of the caller.
        Err(problem) if problem.status == StatusCode::CONFLICT => Ok(find_settled_chat(state, caller, id).await?),
        Err(problem) if problem.status == StatusCode::NOT_FOUND => Err(missing.into()),
        Err(problem) => Err(problem),
    }
}

/// Rejects instructions that the agent does not allow. Earlier messages of the assistant are not read: the record has
/// them.
fn check_instructions(state: &HttpState, caller: &Caller, request: &ChatRequest) -> Result<(), HttpProblem> {
    let allowed = AllowedRoles::for_agent(state, &caller.access.agent);
    let is_allowed = |role: InstructionRole| match role {
        InstructionRole::System => allowed.contains(Role::System),
        InstructionRole::Developer => allowed.contains(Role::Developer),
        InstructionRole::Tool => false,
    };
    let mut instructions = request.instructions.iter();
    match instructions.find(|(_, role)| !is_allowed(*role)) {
        Some((index, _)) => Err(problems::role_not_allowed(*index).into()),
        None => Ok(()),
    }
}

async fn turn_of(state: &HttpState, chat: &OwnedChat, request: ChatRequest) -> Result<Turn, HttpProblem> {
    let mut turn = Turn::default();
    let mut open = chat.conversation.head.open_calls.clone();
    let is_edit = match (&request.trigger, &request.user_message) {
        (Trigger::Regenerate { message_id }, _) => {
            let version = rewind_version::for_regenerate(state, chat, message_id.as_deref()).await?;
            turn.rewind("messageId", version);
            return Ok(turn);
        }
        (Trigger::Submit { message_id: Some(id) }, Some(_)) => {
            let before = rewind_version::for_edit(state, chat, id).await?;
            turn.rewind("messageId", before);
            open.retain(|call| call.version <= before);
            true
        }
        (Trigger::Submit { .. }, _) => false,
    };
    let webhooks = Webhooks::for_agent(state, &chat.target.access.agent);
    let has_webhook_result = add_answers(&mut turn, request.answers, &open, &webhooks);
    if let Some(said) = request.user_message {
        // An edited message has the id of the original: it does not identify the turn.
        let id = said.message_id.as_deref().filter(|_| !is_edit);
        turn.key = id.map(|id| turn::key_from_message_id(chat, id));
        turn.client_message_id = said.message_id;
        turn.add_user_message("messages", said.parts);
    }
    if turn.is_empty() && has_webhook_result {
        return Err(problems::answered_by_webhook("messages").into());
    }
    if turn.is_empty() {
        check_unanswered(state, chat).await?;
    }
    Ok(turn)
}

/// Adds the results and approvals of the page's last message whose calls are open; the page sends all that it ever had.
/// Returns whether it left out a result that only a webhook may send.
fn add_answers(turn: &mut Turn, answers: Vec<ToolAnswer>, open: &[OpenCall], webhooks: &Webhooks) -> bool {
    let mut has_webhook_result = false;
    for answer in answers {
        let call = match &answer {
            ToolAnswer::Returned(returned) => &returned.call_id,
            ToolAnswer::Approved(call) => call,
        };
        let Some(call) = open.iter().find(|open| open.call_id == *call) else {
            continue;
        };
        match answer {
            ToolAnswer::Returned(result) if webhooks.must_answer(&call.tool_name, &result) => {
                has_webhook_result = true;
            }
            ToolAnswer::Returned(result) => turn.add_fact("messages", Fact::ToolReturned(result)),
            ToolAnswer::Approved(call) => turn.approved.push(call),
        }
    }
    has_webhook_result
}

/// A turn that adds nothing answers the user's last message, if that has no answer yet.
async fn check_unanswered(state: &HttpState, chat: &OwnedChat) -> Result<(), HttpProblem> {
    let last = last_turn::last_message(state, chat).await?;
    // A run that ended before its first output has answered nothing.
    let is_unanswered = |last: &UiMessage| last.role == UiRole::User || last.parts.is_empty();
    if last.as_ref().is_some_and(is_unanswered) {
        return Ok(());
    }
    Err(problems::nothing_to_answer().into())
}
