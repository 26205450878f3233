//! `POST /openai/v1/conversations`: creates a conversation, with items.

use axum::extract::State;
use domain::JsonText;
use event_log::registry::Scope;
use runtime::http::{HttpProblem, Json};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;
use wire::conversation::owner_to_proto;
use wire::proto::event::v1 as event;
use wire::proto::write::v1::{self as write, CommitResult};

use super::items::NewItems;
use super::write::rejected;
use super::{ConversationObject, metadata};
use crate::http::body::Verbatim;
use crate::http::commands::result_for_caller;
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use crate::http::openai::conversation_ids::NewConversation;
use crate::http::state::HttpState;

/// The first items and the metadata. Both are optional.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub struct CreateOpenAiConversationBody {
    /// Its first items, in order; at most 500.
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
/// can be. Nothing is created if an item is invalid.
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
    let events = NewItems::read(&body.items.unwrap_or_default())?.into_events(&[])?;
    let access = caller.access(&state, Scope::Append, None).await?;
    let agent_id = access.agent.as_str().to_owned();
    let user = caller.user("user", None)?;
    let new = NewConversation::of(&access.agent, user, Uuid::now_v7())?;
    let request = write::CreateConversationRequest {
        agent_id: agent_id.clone(),
        conversation_id: new.id.to_string(),
        owner: Some(owner_to_proto(&new.owner)),
        metadata_json: metadata_json.clone(),
        ..write::CreateConversationRequest::default()
    };
    let mut writer = state.commands.write_for(&caller.service.call);
    let answer = writer.create_conversation(request).await;
    let created = result_for_caller(answer, |answer| answer.result).map_err(rejected)?;
    if !events.is_empty() {
        append(&state, &caller, &agent_id, &created, events).await?;
    }
    let recorded_at = created.recorded_at.map(wire::time::from_proto);
    let recorded_at = recorded_at.and_then(Result::ok);
    let metadata = Verbatim(JsonText::recorded(metadata_json));
    let created_at = recorded_at.unwrap_or_else(|| state.now());
    Ok(Json(ConversationObject::new(
        &new.id,
        created_at,
        Some(metadata),
    )))
}

/// Appends the first items. The conversation has a new id, so that nobody else writes.
async fn append(
    state: &HttpState,
    caller: &OpenAiCaller,
    agent_id: &str,
    created: &CommitResult,
    events: Vec<event::Event>,
) -> Result<(), HttpProblem> {
    let request = write::AppendEventsRequest {
        target: Some(write::CommandTarget {
            agent_id: agent_id.to_owned(),
            conversation_id: created.conversation_id.clone(),
            expected_version: Some(created.version),
            ..write::CommandTarget::default()
        }),
        events,
    };
    let mut writer = state.commands.write_for(&caller.service.call);
    let answer = writer.append_events(request).await;
    result_for_caller(answer, |answer| answer.result).map_err(rejected)?;
    Ok(())
}
