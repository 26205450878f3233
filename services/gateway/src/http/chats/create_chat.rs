//! `POST /api/chats`: creates a conversation.

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use runtime::http::{HttpProblem, Json};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::proto::event::v1 as event;
use wire::proto::write::v1::CommitResult;

use api_json::content::json_text;
use conversations::create::{NewChat, create};
use conversations::names::{Names, names};
use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::{CallerHeaders, CallerIds};
use http_listener::idempotency::IdempotencyKey;
use http_listener::state::HttpState;

/// The conversation. All members are optional.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateChatBody {
    /// The agent, which must be the API key's.
    #[schema(example = "support")]
    agent_id: Option<String>,
    /// The session that owns it; also as the header `x-session-id`.
    session_id: Option<String>,
    /// The user who owns it; also as the header `x-user-id`.
    user_id: Option<String>,
    /// Its title, at most 1,024 bytes.
    title: Option<String>,
    /// The client.
    context: Option<ClientContextBody>,
    /// Other values that the client stores with it: an object, at most 64 KiB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Box<RawValue>>,
    /// Its id, which is a name among the caller's conversations: 1 to 100 of `A-Z a-z 0-9 _ - :`. Without one, a new UUID.
    id: Option<String>,
}

/// The client. All members are optional; each text has at most 4 KiB. Members that the agent's settings do not accept are left
/// out.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClientContextBody {
    /// The URL of the page.
    #[schema(example = "https://shop.example/cart")]
    page_url: Option<String>,
    /// The URL of the page before it.
    referrer: Option<String>,
    /// Its user agent.
    user_agent: Option<String>,
    /// Its locale: a BCP 47 tag.
    #[schema(example = "en-GB")]
    locale: Option<String>,
    /// Its timezone: an IANA name.
    #[schema(example = "Europe/London")]
    timezone: Option<String>,
    /// Other values: an object, at most 64 KiB.
    #[schema(value_type = Option<Object>)]
    custom_metadata: Option<Box<RawValue>>,
}

/// The new conversation.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedChatBody {
    /// Its id.
    #[schema(example = "0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11")]
    pub id: String,
    /// The same id, under the name that some clients expect.
    chat_id: String,
    /// Its id for services and administrators.
    record_id: String,
}

impl CreatedChatBody {
    /// The conversation of a commit, as the owner of these names reads it.
    #[must_use]
    pub fn new(commit: CommitResult, names: &Names) -> Self {
        let id = names.shown(&commit.conversation_id).to_owned();
        Self { chat_id: id.clone(), id, record_id: commit.conversation_id }
    }
}

/// Create a conversation.
///
/// The caller owns it: the user, or the session.
#[utoipa::path(
    post,
    path = "/api/chats",
    tag = "chats",
    params(CallerHeaders, ("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries.")),
    request_body = CreateChatBody,
    responses((status = 201, description = "The new conversation; `Location` is its path.", body = CreatedChatBody)),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn create_chat(
    State(state): State<HttpState>,
    frontend: Frontend,
    key: IdempotencyKey,
    Json(body): Json<CreateChatBody>,
) -> Result<Response, HttpProblem> {
    frontend.check_agent(body.agent_id.as_deref())?;
    let ids = CallerIds { session_id: body.session_id, user_id: body.user_id };
    let caller = frontend.caller(&state, ids).await?;
    let chat = NewChat {
        id: body.id.unwrap_or_default(),
        title: body.title.unwrap_or_default(),
        metadata_json: json_text(body.metadata),
        context: body.context.map(event::ClientContext::from),
        forked_from: None,
    };
    let commit = create(&state, &caller, &frontend.via, chat, key.0).await?;
    let names = names(&state, &caller.access, &caller.owner)?;
    let body = CreatedChatBody::new(commit, &names);
    Ok(created(&body.id.clone(), body))
}

/// 201 with the location `/api/chats/{id}`.
pub(super) fn created(id: &str, body: impl Serialize) -> Response {
    // Ids contain no characters that paths must escape.
    let location = HeaderValue::try_from(format!("/api/chats/{id}"));
    let mut response = (StatusCode::CREATED, Json(body)).into_response();
    if let Ok(location) = location {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

impl From<ClientContextBody> for event::ClientContext {
    fn from(context: ClientContextBody) -> Self {
        Self {
            page_url: context.page_url.unwrap_or_default(),
            referrer: context.referrer.unwrap_or_default(),
            user_agent: context.user_agent.unwrap_or_default(),
            locale: context.locale.unwrap_or_default(),
            timezone: context.timezone.unwrap_or_default(),
            custom_metadata_json: json_text(context.custom_metadata),
        }
    }
}
