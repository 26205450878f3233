//! `GET /api/chats/{id}`: a conversation and its newest messages.

use axum::extract::State;
use runtime::http::{HttpProblem, Json, Path, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::chat_message::ChatMessageBody;
use api_json::conversation::ConversationBody;
use api_json::fact::EventBody;
use conversations::message_pages::{Paging, read_page};
use conversations::names::names;
use conversations::open::find_chat;
use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::{CallerHeaders, CallerIds};
use http_listener::state::HttpState;

/// Which messages to return.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct GetChatQuery {
    /// Maximum number of messages; 0 or absent: 50. A turn is never split, so there may be more.
    #[param(maximum = 200)]
    limit: Option<u32>,
    /// `nextBefore` of the previous page; absent: the newest messages.
    before: Option<u64>,
    /// What to return in addition.
    #[param(inline)]
    include: Option<Include>,
}

/// What can be returned in addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Include {
    /// The events of the messages.
    Events,
}

/// A conversation and some of its messages.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatBody {
    #[serde(flatten)]
    conversation: ConversationBody,
    /// The messages, oldest first, in the AI SDK's form, with time, model and tokens. The answer of an active run is
    /// not included: follow its stream.
    messages: Vec<ChatMessageBody>,
    /// `before` for the previous messages; absent: there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_before: Option<u64>,
    /// The events of the messages, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<Vec<EventBody>>,
}

/// A conversation and its newest messages.
#[utoipa::path(
    get,
    path = "/api/chats/{id}",
    tag = "chats",
    params(("id" = String, Path, description = "The conversation."), CallerHeaders, GetChatQuery),
    responses((status = 200, description = "The conversation.", body = ChatBody)),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn get_chat(
    State(state): State<HttpState>,
    frontend: Frontend,
    Path(id): Path<String>,
    Query(query): Query<GetChatQuery>,
) -> Result<Json<ChatBody>, HttpProblem> {
    let caller = frontend.caller(&state, CallerIds::default()).await?;
    let paging = Paging::new(query.limit, query.before)?;
    let chat = find_chat(&state, &caller, &id).await?;
    let names = names(&state, &caller.access, &caller.owner)?;
    let page = read_page(&state, &chat, paging).await?;
    let events = query.include.map(|Include::Events| page.events.iter().map(EventBody::from).collect());
    Ok(Json(ChatBody {
        conversation: ConversationBody::from(&chat.conversation).named(|id| names.shown(id)),
        next_before: page.next_before.map(|version| version.0),
        messages: ChatMessageBody::of_page(page),
        events,
    }))
}
