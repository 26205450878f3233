//! `POST /api/chats`: begin a conversation.

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use runtime::http::{HttpProblem, Json};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::proto::event::v1 as event;

use super::begin_chat::{BeginChat, begin};
use crate::http::frontend::{CallerHeaders, Frontend, Named};
use crate::http::idempotency::IdempotencyKey;
use crate::http::state::HttpState;

/// A conversation to begin. All of it is optional.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateChatBody {
    /// The agent, which must be the API key's.
    #[schema(example = "support")]
    agent_id: Option<String>,
    /// The session that it belongs to; also as the header `x-session-id`.
    session_id: Option<String>,
    /// The user that it belongs to; also as the header `x-user-id`.
    user_id: Option<String>,
    /// Its title, at most 1,024 bytes.
    title: Option<String>,
    /// Where the client is.
    context: Option<ClientContextBody>,
    /// Whatever else the client keeps with it: an object, at most 64 KiB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Box<RawValue>>,
    /// Its id: 1 to 128 of `A-Z a-z 0-9 _ - :`; without one, a new UUID.
    id: Option<String>,
}

/// Where a client is. All of it is optional; each text at most 4 KiB.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClientContextBody {
    /// The page that it is on.
    #[schema(example = "https://shop.example/cart")]
    page_url: Option<String>,
    /// The page before it.
    referrer: Option<String>,
    /// Its user agent.
    user_agent: Option<String>,
    /// Its locale: a BCP 47 tag.
    #[schema(example = "en-GB")]
    locale: Option<String>,
    /// Its timezone: an IANA name.
    #[schema(example = "Europe/London")]
    timezone: Option<String>,
    /// Whatever else it tells: an object, at most 64 KiB.
    #[schema(value_type = Option<Object>)]
    custom_metadata: Option<Box<RawValue>>,
}

/// The conversation that was begun.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedChatBody {
    /// Its id.
    #[schema(example = "0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11")]
    id: String,
    /// The same, as some clients call it.
    chat_id: String,
}

/// Begin a conversation.
///
/// It belongs to the user that the caller is known as, or to the caller's session.
#[utoipa::path(
    post,
    path = "/api/chats",
    tag = "chats",
    params(CallerHeaders, ("idempotency-key" = Option<String>, Header, description = "A UUID that names this request for all of its retries.")),
    request_body = CreateChatBody,
    responses((status = 201, description = "It was begun; `Location` says where it is.", body = CreatedChatBody)),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn create_chat(
    State(state): State<HttpState>,
    frontend: Frontend,
    key: IdempotencyKey,
    Json(body): Json<CreateChatBody>,
) -> Result<Response, HttpProblem> {
    frontend.check_agent(body.agent_id.as_deref())?;
    let named = Named {
        session_id: body.session_id,
        user_id: body.user_id,
    };
    let caller = frontend.caller(&state, named).await?;
    let chat = BeginChat {
        id: body.id.unwrap_or_default(),
        title: body.title.unwrap_or_default(),
        metadata_json: text(body.metadata),
        context: body.context.map(event::ClientContext::from),
        forked_from: None,
    };
    let begun = begin(&state, &caller, chat, key).await?;
    Ok(created(
        &begun.conversation_id,
        CreatedChatBody {
            id: begun.conversation_id.clone(),
            chat_id: begun.conversation_id.clone(),
        },
    ))
}

/// The answer that something was made at `/api/chats/{id}`.
pub(super) fn created(id: &str, body: impl Serialize) -> Response {
    // Ids are of characters that stand in paths as they are.
    let location = HeaderValue::try_from(format!("/api/chats/{id}"));
    let mut response = (StatusCode::CREATED, Json(body)).into_response();
    if let Ok(location) = location {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// JSON text as it was given; empty: none.
pub(super) fn text(json: Option<Box<RawValue>>) -> String {
    json.map(|json| Box::<str>::from(json).into_string())
        .unwrap_or_default()
}

impl From<ClientContextBody> for event::ClientContext {
    fn from(context: ClientContextBody) -> Self {
        Self {
            page_url: context.page_url.unwrap_or_default(),
            referrer: context.referrer.unwrap_or_default(),
            user_agent: context.user_agent.unwrap_or_default(),
            locale: context.locale.unwrap_or_default(),
            timezone: context.timezone.unwrap_or_default(),
            custom_metadata_json: text(context.custom_metadata),
        }
    }
}
