//! `POST /openai/v1/conversations`: creates a conversation, with items.

use axum::extract::State;
use domain::JsonText;
use domain::bounds::CREATE_EVENTS_MAX;
use openai_api::conversation_ids::OwnedId;
use openai_api::items::open_calls::OpenBefore;
use openai_api::metadata;
use registry::Scope;
use runtime::http::{HttpProblem, Json};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;
use wire::conversation::owner_to_proto;
use wire::proto::write::v1 as write;

use super::ConversationObject;
use super::items::NewItems;
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use crate::http::openai::rejected::rejected;
use api_json::content::Verbatim;
use conversations::commands::recorded_at;
use http_listener::state::HttpState;

/// The first items and the metadata. Both are optional.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub struct CreateOpenAiConversationBody {
    /// Its first items, in order; at most 499.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>)]
    items: Option<Vec<Box<RawValue>>>,
    /// Its metadata: at most 16 pairs, with keys of at most 64 characters and values of at most 512.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Box<RawValue>>,
}

/// Create a conversation.
///
/// The owner is the end user of the header `x-hansard-user`; without it, the conversation has an owner of its own, which no frontend
/// can be. The conversation and its items are one commit.
#[utoipa::path(
    post,
    path = "/openai/v1/conversations",
    tag = "openai",
    params(
        OpenAiHeaders,
    ),
    request_body = CreateOpenAiConversationBody,
    responses((status = 200, description = "The new conversation.", body = ConversationObject)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn create_openai_conversation(
    State(state): State<HttpState>,
    caller: OpenAiCaller,
    Json(body): Json<CreateOpenAiConversationBody>,
) -> Result<Json<ConversationObject>, HttpProblem> {
    let metadata_json = metadata::checked(body.metadata.as_deref())?;
    let items = NewItems::read_field("items", CREATE_EVENTS_MAX, &body.items.unwrap_or_default())?;
    let events = items.into_events(OpenBefore::Known(&[]))?;
    let access = caller.access(&state, Scope::Append, None).await?;
    let new = OwnedId::of(&access.agent, caller.end_user.user(), Uuid::now_v7())?;
    let request = write::CreateConversationRequest {
        agent_id: access.agent.as_str().to_owned(),
        conversation_id: new.id.to_string(),
        owner: Some(owner_to_proto(&new.owner)),
        metadata_json: metadata_json.clone(),
        events,
        ..write::CreateConversationRequest::default()
    };
    let created = caller.request(&state).send(request).await.map_err(rejected)?;
    let metadata = Verbatim(JsonText::recorded(metadata_json));
    let created_at = recorded_at(&created).unwrap_or_else(|| state.now());
    Ok(Json(ConversationObject::new(&new.id, created_at, Some(metadata))))
}
