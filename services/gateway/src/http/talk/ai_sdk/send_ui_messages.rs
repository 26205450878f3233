//! `POST /api/chat`: a page of the AI SDK says something, and hears the answer.

use axum::extract::State;
use axum::response::Response;
use domain::Fact;
use domain::event::Role;
use domain::head::OpenCall;
use runs::ui_message::UiRole;
use runs::{ChatRequest, InstructionRole, ToolAnswer, Trigger, UiMessage};
use runtime::http::{HttpProblem, Json, OpenStream};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::status::Problem;

use super::going_back;
use super::named_chat;
use crate::http::frontend::{CallerHeaders, Frontend, Named};
use crate::http::idempotency::IdempotencyKey;
use crate::http::owned_chat::{Owned, owned_latest};
use crate::http::problem;
use crate::http::state::HttpState;
use crate::http::talk::client_results::Webhooks;
use crate::http::talk::listener::StreamedEvent;
use crate::http::talk::roles::{self, AllowedRoles};
use crate::http::talk::send_message::answer;
use crate::http::talk::settled::settled;
use crate::http::talk::turn::{self, Turn};
use crate::http::talk::{behind, refusal};
use crate::identity::Caller;

/// Most bytes of a request, which carries the page's whole history.
pub const UI_REQUEST_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What the AI SDK's chat sends: `{id, messages, trigger, messageId}`, and `sessionId` or `userId` where the transport adds
/// them to the body.
#[derive(Debug, ToSchema)]
#[schema(as = UiChatRequest)]
#[expect(dead_code, reason = "describes the body, which is read by `runs`")]
pub struct SendUiMessagesBody {
    /// The chat; it is begun when it first says something.
    #[schema(example = "0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11")]
    id: String,
    /// The page's messages; the last user's, and what the last assistant's answers to calls, are read. Others than the
    /// user's and the assistant's are rejected with 403 `ROLE_NOT_ALLOWED`, unless the agent's settings allow the role.
    #[schema(value_type = Vec<Object>)]
    messages: Vec<()>,
    /// `submit-message` or `regenerate-message`.
    trigger: Option<String>,
    /// The message that is edited or regenerated.
    #[schema(rename = "messageId")]
    message_id: Option<String>,
}

/// Say something as the AI SDK's chat does, and hear the answer.
///
/// The chat is begun when it first says something, as the caller's. Results of calls and consents in the last assistant's
/// message are taken where the calls are open, and their tool has no webhook. Where a message is edited, or another answer is wanted, the chat goes on from
/// before it: what was said since stays in the record and in exports, and is neither shown nor read any more.
#[utoipa::path(
    post,
    path = "/api/chat",
    tag = "ai-sdk",
    params(
        CallerHeaders,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that names this request for all of its retries; without one, the id of the user's message does."),
    ),
    request_body = SendUiMessagesBody,
    responses((status = 200, description = "The answer, as it is made; `x-run-id` names its run.", body = StreamedEvent, content_type = "text/event-stream")),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn send_ui_messages(
    State(state): State<HttpState>,
    open: OpenStream,
    frontend: Frontend,
    key: IdempotencyKey,
    Json(body): Json<Box<RawValue>>,
) -> Result<Response, HttpProblem> {
    let refused = |wrong| problem::of(Problem::from(wrong));
    let request = ChatRequest::parse(body.get().as_bytes()).map_err(refused)?;
    // What stands in their place but is no text is no name.
    let named = serde_json::from_str::<Named>(body.get()).unwrap_or_default();
    let caller = frontend.caller(&state, named).await?;
    check_instructions(&state, &caller, &request)?;
    let Some(id) = request.chat_id.as_deref().filter(|id| !id.is_empty()) else {
        let detail = "id is required: name the chat";
        return Err(HttpProblem::of_field("FIELD_MISSING", "id", detail));
    };
    let begins = matches!(request.trigger, Trigger::Submit { message_id: None });
    let begins = begins && request.said.is_some();
    let chat = if begins {
        named_chat::begun(&state, &caller, id).await?
    } else {
        owned_latest(&state, &caller, id).await?
    };
    let chat = if request.answers.is_empty() {
        chat
    } else {
        settled(&state, chat).await?
    };
    let mut turn = turn_of(&state, &chat, request).await?;
    turn.key = key.0.or(turn.key);
    turn.via = frontend.via;
    answer(&state, open, &chat, turn).await
}

/// Rejects instructions that the agent does not allow. What the page's earlier messages have the assistant say is not read at
/// all: the record has it.
fn check_instructions(
    state: &HttpState,
    caller: &Caller,
    request: &ChatRequest,
) -> Result<(), HttpProblem> {
    let allowed = AllowedRoles::of(state, &caller.access.agent);
    let is_allowed = |role: InstructionRole| match role {
        InstructionRole::System => allowed.allow(Role::System),
        InstructionRole::Developer => allowed.allow(Role::Developer),
        InstructionRole::Tool => false,
    };
    let mut refused = request.instructions.iter();
    match refused.find(|(_, role)| !is_allowed(*role)) {
        Some((place, _)) => Err(roles::not_allowed(*place)),
        None => Ok(()),
    }
}

async fn turn_of(
    state: &HttpState,
    chat: &Owned,
    request: ChatRequest,
) -> Result<Turn, HttpProblem> {
    let mut turn = Turn::default();
    let mut open = chat.conversation.head.open_calls.clone();
    let is_edit = match (&request.trigger, &request.said) {
        (Trigger::Regenerate { message_id }, _) => {
            let behind = going_back::to_answer(state, chat, message_id.as_deref()).await?;
            turn.rewind("messageId", behind);
            return Ok(turn);
        }
        (
            Trigger::Submit {
                message_id: Some(id),
            },
            Some(_),
        ) => {
            let before = going_back::to_edit(state, chat, id).await?;
            turn.rewind("messageId", before);
            open.retain(|call| call.version <= before);
            true
        }
        (Trigger::Submit { .. }, _) => false,
    };
    let webhooks = Webhooks::of(state, &chat.target.access.agent);
    let has_forged = add_answers(&mut turn, request.answers, &open, &webhooks);
    if let Some(said) = request.said {
        // An edited message has the id of the one whose place it takes: it names no turn.
        let id = said.message_id.as_deref().filter(|_| !is_edit);
        turn.key = id.map(|id| turn::key_of(chat, id));
        turn.client_message_id = said.message_id;
        turn.say("messages", said.parts);
    }
    if turn.is_empty() && has_forged {
        return Err(refusal::answered_by_webhook("messages"));
    }
    if turn.is_empty() {
        check_unanswered(state, chat).await?;
    }
    Ok(turn)
}

/// What the page's last message answers, where the calls wait for it: the page shows all that it ever answered. Whether there
/// was a result among it that only a webhook can give; it is left out.
fn add_answers(
    turn: &mut Turn,
    answers: Vec<ToolAnswer>,
    open: &[OpenCall],
    webhooks: &Webhooks,
) -> bool {
    let mut has_forged = false;
    for answer in answers {
        let call = match &answer {
            ToolAnswer::Returned(returned) => &returned.call_id,
            ToolAnswer::Approved(call) => call,
        };
        let Some(call) = open.iter().find(|open| open.call_id == *call) else {
            continue;
        };
        match answer {
            ToolAnswer::Returned(result) if webhooks.answer_for(&call.tool_name, &result) => {
                has_forged = true;
            }
            ToolAnswer::Returned(result) => turn.record("messages", Fact::ToolReturned(result)),
            ToolAnswer::Approved(call) => turn.approved.push(call),
        }
    }
    has_forged
}

/// A turn that adds nothing answers the user's last message, which has no answer yet.
async fn check_unanswered(state: &HttpState, chat: &Owned) -> Result<(), HttpProblem> {
    let last = behind::last_message(state, chat).await?;
    // A run that ended before it said anything has answered nothing.
    let waits = |last: &UiMessage| last.role == UiRole::User || last.parts.is_empty();
    if last.as_ref().is_some_and(waits) {
        return Ok(());
    }
    Err(refusal::nothing_to_answer())
}
