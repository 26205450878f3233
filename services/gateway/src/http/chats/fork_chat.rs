//! `POST /api/chats/{id}/fork`: go on from any point of a conversation, in another one.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use domain::Version;
use runtime::http::{HttpProblem, Json, Path};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::proto::event::v1::ForkPoint;

use super::begin_chat::{BeginChat, begin};
use super::create_chat::{created, text};
use super::messages::{MESSAGES_PAGE, Paging, shown};
use crate::http::frontend::{CallerHeaders, Frontend, Named};
use crate::http::idempotency::IdempotencyKey;
use crate::http::owned_chat::{Owned, owned_latest};
use crate::http::state::HttpState;

/// Most pages of messages that are looked through for a message; further back, name the version.
pub const PAGES_SEARCHED_MAX: u32 = 25;

/// Where a fork leaves, and what it is called.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForkChatBody {
    /// The last version that the fork shares; absent, with no `messageId` either: the last there is. With an idempotency
    /// key, name the version or the message, so that a retry asks for the same.
    #[schema(example = 4)]
    version: Option<u64>,
    /// The last message that the fork shares.
    message_id: Option<String>,
    /// The session that asks; also as the header `x-session-id`.
    session_id: Option<String>,
    /// The user who asks; also as the header `x-user-id`.
    user_id: Option<String>,
    /// The fork's id; without one, a new UUID.
    id: Option<String>,
    /// The fork's title, at most 1,024 bytes.
    title: Option<String>,
    /// The fork's metadata: an object, at most 64 KiB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Box<RawValue>>,
}

/// The fork.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkedChatBody {
    /// Its id.
    id: String,
    /// The same, as some clients call it.
    chat_id: String,
    /// Where it leaves.
    forked_from: ForkedFromBody,
}

/// Where a fork leaves, as it was asked for.
#[derive(Debug, Serialize, ToSchema)]
pub struct ForkedFromBody {
    /// The conversation.
    id: String,
    /// The last version that the fork shares with it.
    #[schema(example = 4)]
    version: u64,
}

/// Go on from any point of a conversation, in another one.
///
/// Nothing is copied and the conversation stays as it is. The fork is the caller's and shows what it shares as its own
/// history.
#[utoipa::path(
    post,
    path = "/api/chats/{id}/fork",
    tag = "chats",
    params(
        ("id" = String, Path, description = "The conversation."),
        CallerHeaders,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that names this request for all of its retries."),
    ),
    request_body = ForkChatBody,
    responses((status = 201, description = "The fork; `Location` says where it is.", body = ForkedChatBody)),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn fork_chat(
    State(state): State<HttpState>,
    frontend: Frontend,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Json(body): Json<ForkChatBody>,
) -> Result<Response, HttpProblem> {
    let named = Named {
        session_id: body.session_id,
        user_id: body.user_id,
    };
    let caller = frontend.caller(&state, named).await?;
    let chat = owned_latest(&state, &caller, &id).await?;
    let version = match (body.version, body.message_id) {
        (Some(version), None) => Version(version),
        (None, Some(message)) => version_of(&state, &chat, &message).await?,
        (None, None) => chat.conversation.head.version,
        (Some(_), Some(_)) => return Err(two_points()),
    };
    let fork = BeginChat {
        id: body.id.unwrap_or_default(),
        title: body.title.unwrap_or_default(),
        metadata_json: text(body.metadata),
        context: None,
        forked_from: Some(ForkPoint {
            conversation_id: id.clone(),
            version: version.0,
            depth: 0,
        }),
    };
    let begun = begin(&state, &caller, fork, key).await?;
    let forked_from = ForkedFromBody {
        id,
        version: version.0,
    };
    Ok(created(
        &begun.conversation_id,
        ForkedChatBody {
            id: begun.conversation_id.clone(),
            chat_id: begun.conversation_id.clone(),
            forked_from,
        },
    ))
}

/// The last version of a message, searched from the newest back.
async fn version_of(state: &HttpState, chat: &Owned, id: &str) -> Result<Version, HttpProblem> {
    let mut paging = Paging {
        limit: MESSAGES_PAGE.max,
        before: None,
    };
    for _ in 0..PAGES_SEARCHED_MAX {
        let page = shown(state, chat, paging).await?;
        let mut ended = page.messages.iter().zip(&page.ends);
        if let Some((_, end)) = ended.find(|(message, _)| message.id == id) {
            return Ok(*end);
        }
        if page.next_before.is_none() {
            break;
        }
        paging.before = page.next_before;
    }
    let detail = "messageId is no message of this conversation, or one too far back to be looked for: give the version";
    Err(HttpProblem {
        field: Some("messageId".to_owned()),
        ..HttpProblem::new(StatusCode::NOT_FOUND, "MESSAGE_NOT_FOUND", detail)
    })
}

fn two_points() -> HttpProblem {
    let detail = "version and messageId are both given: give one";
    HttpProblem {
        field: Some("messageId".to_owned()),
        ..HttpProblem::new(StatusCode::BAD_REQUEST, "FIELD_CONFLICT", detail)
    }
}
