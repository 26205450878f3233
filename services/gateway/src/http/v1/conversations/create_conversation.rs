//! `POST /v1/conversations`: creates a conversation of any owner.

use axum::extract::State;
use axum::http::StatusCode;
use domain::ViolationReason;
use registry::Scope;
use runtime::http::{HttpProblem, Json};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::proto::event::v1 as event;
use wire::proto::write::v1 as write;

use crate::http::chats::create_chat::ClientContextBody;
use crate::http::v1::conversations::CommitBody;
use api_json::content::json_text;
use conversations::commands::{Issuer, key_text};
use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::idempotency::IdempotencyKey;
use http_listener::state::HttpState;

/// The conversation and its owner: `userId` or `sessionId`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateConversationBody {
    /// The agent; also as the header `x-agent-id`.
    #[schema(example = "support")]
    agent_id: Option<String>,
    /// The user who owns it; 1 to 256 bytes.
    user_id: Option<String>,
    /// The session that owns it; 1 to 256 bytes.
    session_id: Option<String>,
    /// Its id: 1 to 128 of `A-Z a-z 0-9 _ - :`; without one, a new UUID.
    id: Option<String>,
    /// Its title, at most 1,024 bytes.
    title: Option<String>,
    /// The client.
    context: Option<ClientContextBody>,
    /// Its metadata: an object, at most 64 KiB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Box<RawValue>>,
    /// The provider's id of the conversation, at most 256 bytes.
    provider_conversation_id: Option<String>,
}

/// Create a conversation.
///
/// The answer is sent after the conversation is on disk.
#[utoipa::path(
    post,
    path = "/v1/conversations",
    tag = "conversations",
    params(
        ServiceHeaders,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries."),
    ),
    request_body = CreateConversationBody,
    responses((status = 201, description = "The new conversation.", body = CommitBody)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn create_conversation(
    State(state): State<HttpState>,
    service: Service,
    key: IdempotencyKey,
    Json(body): Json<CreateConversationBody>,
) -> Result<(StatusCode, Json<CommitBody>), HttpProblem> {
    let named = body.agent_id.as_deref();
    let access = service.access(&state, Scope::Append, named).await?;
    let request = write::CreateConversationRequest {
        agent_id: access.agent.as_str().to_owned(),
        conversation_id: body.id.unwrap_or_default(),
        idempotency_key: key_text(key.0),
        owner: Some(owner(body.user_id, body.session_id)?),
        title: body.title.unwrap_or_default(),
        metadata_json: json_text(body.metadata),
        client_context: body.context.map(event::ClientContext::from),
        provider_conversation_id: body.provider_conversation_id.unwrap_or_default(),
        ..write::CreateConversationRequest::default()
    };
    let created = state.commands.send(Issuer::Service(&service.call), request).await?;
    Ok((StatusCode::CREATED, Json(created.into())))
}

fn owner(user: Option<String>, session: Option<String>) -> Result<event::Owner, HttpProblem> {
    let kind = match (user, session) {
        (Some(user), None) => event::owner::Kind::UserId(user),
        (None, Some(session)) => event::owner::Kind::SessionId(session),
        (None, None) => {
            let detail = "is missing: send userId or sessionId, the owner of the conversation";
            return Err(HttpProblem::of_field(ViolationReason::Missing, "userId", detail));
        }
        (Some(_), Some(_)) => {
            let detail = "is given beside userId: a conversation has one owner";
            return Err(HttpProblem::of_field(ViolationReason::Conflict, "sessionId", detail));
        }
    };
    Ok(event::Owner { kind: Some(kind) })
}
