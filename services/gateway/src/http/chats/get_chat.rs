//! `GET /api/chats/{id}`: a conversation and its newest messages.

use axum::extract::State;
use runs::UiMessage;
use runtime::http::{HttpProblem, Json, Path, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::messages::{Paging, shown};
use crate::http::body::{ConversationBody, EventBody};
use crate::http::frontend::{CallerHeaders, Frontend, Named};
use crate::http::owned_chat::owned;
use crate::http::state::HttpState;

/// Which messages to show.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct GetChatQuery {
    /// Most messages; 0 and absent: 50. A turn comes whole, also where it has more.
    #[param(maximum = 200)]
    limit: Option<u32>,
    /// `nextBefore` of the page before; absent: the newest messages.
    before: Option<u64>,
    /// What else to show.
    #[param(inline)]
    include: Option<Include>,
}

/// What may be shown beside messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Include {
    /// The events that the messages come from.
    Events,
}

/// A conversation and some of its messages.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatBody {
    #[serde(flatten)]
    conversation: ConversationBody,
    /// The messages, oldest first, as the AI SDK keeps them: `{id, role, parts}`. What a run under way has said so far is not
    /// among them: follow its stream.
    #[schema(value_type = Vec<Object>)]
    messages: Vec<UiMessage>,
    /// Give it as `before` for the messages before these; absent: there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_before: Option<u64>,
    /// The events that the messages come from, where asked for.
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
    let caller = frontend.caller(&state, Named::default()).await?;
    let paging = Paging::of(query.limit, query.before)?;
    let chat = owned(&state, &caller, &id).await?;
    let page = shown(&state, &chat, paging).await?;
    let events = query
        .include
        .map(|Include::Events| page.events.iter().map(EventBody::from).collect());
    Ok(Json(ChatBody {
        conversation: ConversationBody::from(&chat.conversation),
        messages: page.messages,
        next_before: page.next_before.map(|version| version.0),
        events,
    }))
}
