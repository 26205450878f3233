//! `DELETE /openai/v1/conversations/{id}`: erases a conversation.

use axum::extract::State;
use axum::http::HeaderMap;
use domain::{ConversationKey, Status};
use registry::{AgentAccess, Scope};
use runtime::http::{HttpProblem, Json, Path};
use serde::Serialize;
use utoipa::ToSchema;
use wire::conversation::owner_to_proto;
use wire::proto::write::v1 as write;

use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders, parse_id};
use crate::http::openai::rejected::rejected;
use crate::http::openai::retry_count::is_retry;
use conversations::commands::command_target;
use conversations::names::{ReadFrom, candidates, read_head};
use conversations::request_hash::is_within_window;
use http_listener::state::HttpState;

/// An erased conversation.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeletedConversationObject {
    /// The id of the conversation.
    id: String,
    /// Always `conversation.deleted`.
    object: &'static str,
    /// Always `true`.
    deleted: bool,
}

impl DeletedConversationObject {
    fn new(id: String) -> Self {
        Self { id, object: "conversation.deleted", deleted: true }
    }
}

/// Erase a conversation with its items.
///
/// Needs the scope `erase`. The erasure is final. A conversation with forks is not erased.
#[utoipa::path(
    delete,
    path = "/openai/v1/conversations/{id}",
    tag = "openai",
    params(("id" = String, Path, description = "The conversation."), OpenAiHeaders),
    responses((status = 200, description = "It is erased.", body = DeletedConversationObject)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn delete_openai_conversation(
    State(state): State<HttpState>,
    caller: OpenAiCaller,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Json<DeletedConversationObject>, HttpProblem> {
    let conversation = caller.request(&state).record_id(Scope::Erase, parse_id(&id)?).await?;
    let (access, key) = caller.service.conversation(&state, Scope::Erase, conversation.as_str()).await?;
    // An erasure shows and plants nothing, so a chosen id needs no end user.
    let expected_owner = caller.end_user.owner();
    if is_retry(&headers) && was_erased(&state, &caller, &access, &key, &id).await? {
        return Ok(Json(DeletedConversationObject::new(id)));
    }
    let erase = write::EraseConversationRequest {
        expected_owner: expected_owner.as_ref().map(owner_to_proto),
        target: Some(command_target(&access.agent, &conversation, None)),
        ..write::EraseConversationRequest::default()
    };
    caller.request(&state).send(erase).await.map_err(rejected)?;
    Ok(Json(DeletedConversationObject::new(id)))
}

/// Whether an earlier attempt has erased the conversation of the agent, also by the end user's name for it.
async fn was_erased(
    state: &HttpState,
    caller: &OpenAiCaller,
    access: &AgentAccess,
    key: &ConversationKey,
    id: &str,
) -> Result<bool, HttpProblem> {
    let named = caller.end_user.owner().filter(|_| !key.conversation.is_history());
    let named = named.map(|owner| candidates(state, access, &owner, id)).transpose()?;
    for key in named.into_iter().flatten().chain([key.clone()]) {
        let head = read_head(state, &key, ReadFrom::Leader, caller.service.call.deadline).await?;
        if head.is_some_and(|(head, _)| {
            head.status == Status::Erased
                && head.agent == access.agent
                && is_within_window(head.recorded_at, state.now())
        }) {
            return Ok(true);
        }
    }
    Ok(false)
}
