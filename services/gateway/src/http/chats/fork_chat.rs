//! `POST /api/chats/{id}/fork`: continues a conversation in a new one, from any of its messages.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use domain::{Version, ViolationReason};
use runtime::http::{HttpProblem, Json, Path};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::proto::event::v1::{ClientContext, ForkPoint};

use super::create_chat::{ClientContextBody, CreatedChatBody, created};
use api_json::content::json_text;
use conversations::create::{NewChat, create};
use conversations::message_pages::search;
use conversations::names::names;
use conversations::open::{OwnedChat, find_latest_chat};
use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::{CallerHeaders, CallerIds};
use http_listener::idempotency::IdempotencyKey;
use http_listener::state::HttpState;

/// The point of the fork, and its values.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForkChatBody {
    /// The last version that the fork shares; if neither this nor `messageId` is given, the latest one. With an
    /// idempotency key, name the version or the message, so that a retry sends the same request.
    #[schema(example = 4)]
    version: Option<u64>,
    /// The last message that the fork shares.
    message_id: Option<String>,
    /// The caller's session; also as the header `x-session-id`.
    session_id: Option<String>,
    /// The caller's user id; also as the header `x-user-id`.
    user_id: Option<String>,
    /// The fork's id; absent: a new UUID.
    id: Option<String>,
    /// The fork's title, at most 1,024 bytes.
    title: Option<String>,
    /// The client that forks.
    context: Option<ClientContextBody>,
    /// The fork's metadata: an object, at most 64 KiB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Box<RawValue>>,
}

/// The fork.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkedChatBody {
    #[serde(flatten)]
    fork: CreatedChatBody,
    /// The point of the fork.
    forked_from: ForkedFromBody,
}

/// The point of a fork.
#[derive(Debug, Serialize, ToSchema)]
pub struct ForkedFromBody {
    /// The parent.
    id: String,
    /// The last version that the fork shares with its parent.
    #[schema(example = 4)]
    version: u64,
}

/// Continue a conversation in a new one, from any of its messages.
///
/// Nothing is copied, and the conversation does not change. The caller owns the fork, which shows the shared history as
/// its own.
#[utoipa::path(
    post,
    path = "/api/chats/{id}/fork",
    tag = "chats",
    params(
        ("id" = String, Path, description = "The conversation."),
        CallerHeaders,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries."),
    ),
    request_body = ForkChatBody,
    responses((status = 201, description = "The fork; `Location` is its path.", body = ForkedChatBody)),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn fork_chat(
    State(state): State<HttpState>,
    frontend: Frontend,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Json(body): Json<ForkChatBody>,
) -> Result<Response, HttpProblem> {
    let ids = CallerIds { session_id: body.session_id, user_id: body.user_id };
    let caller = frontend.caller(&state, ids).await?;
    let chat = find_latest_chat(&state, &caller, &id).await?;
    let version = match (body.version, body.message_id) {
        (Some(version), None) => Version(version),
        (None, Some(message)) => version_of(&state, &chat, &message).await?,
        (None, None) => chat.conversation.head.version,
        (Some(_), Some(_)) => {
            let detail = "version and messageId are both given: send one of them";
            return Err(HttpProblem::of_field(ViolationReason::Conflict, "messageId", detail));
        }
    };
    let fork = NewChat {
        id: body.id.unwrap_or_default(),
        title: body.title.unwrap_or_default(),
        metadata_json: json_text(body.metadata),
        context: body.context.map(ClientContext::from),
        forked_from: Some(ForkPoint {
            conversation_id: chat.target.key.conversation.as_str().to_owned(),
            version: version.0,
            depth: 0,
        }),
    };
    let commit = create(&state, &caller, &frontend.via, fork, key.0).await?;
    let forked_from = ForkedFromBody { id, version: version.0 };
    let names = names(&state, &caller.access, &caller.owner)?;
    let fork = CreatedChatBody::new(commit, &names);
    Ok(created(&fork.id.clone(), ForkedChatBody { fork, forked_from }))
}

/// The last version of a message.
async fn version_of(state: &HttpState, chat: &OwnedChat, id: &str) -> Result<Version, HttpProblem> {
    let found = search(state, chat, |page| {
        let mut ends = page.messages.iter().zip(&page.ends);
        let (_, end) = ends.find(|(message, _)| message.id == id)?;
        Some(*end)
    });
    found.await?.ok_or_else(|| {
        let detail = "messageId is not a message of this conversation, or it is too old to be found: send the version";
        HttpProblem::new(StatusCode::NOT_FOUND, "MESSAGE_NOT_FOUND", detail).in_field("messageId")
    })
}
