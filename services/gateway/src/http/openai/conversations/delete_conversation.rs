//! `DELETE /openai/v1/conversations/{id}`: erases a conversation.

use axum::extract::State;
use axum::http::HeaderMap;
use domain::{ConversationKey, Status};
use event_log::registry::{AgentAccess, Scope};
use runtime::http::{HttpProblem, Json, Path};
use serde::Serialize;
use utoipa::ToSchema;
use wire::conversation::owner_to_proto;
use wire::proto::write::v1 as write;

use super::retry::{is_retry, is_within_window};
use super::write::rejected;
use crate::http::commands::result_for_caller;
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use crate::http::openai::conversation_ids::{api_id, record_id};
use crate::http::problem;
use crate::http::state::HttpState;
use crate::writer::command_target;

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
    let id = record_id(&id)?;
    let (access, conversation) = caller.service.conversation(&state, Scope::Erase, id.as_str()).await?;
    // An erasure shows and plants nothing, so a chosen id needs no end user.
    let expected_owner = caller.end_user.owner();
    let deleted =
        DeletedConversationObject { id: api_id(&id).to_owned(), object: "conversation.deleted", deleted: true };
    if is_retry(&headers) && was_erased(&state, &caller, &access, &conversation).await? {
        return Ok(Json(deleted));
    }
    let erase = write::EraseConversationRequest {
        expected_owner: expected_owner.as_ref().map(owner_to_proto),
        target: Some(command_target(&access.agent, &id, String::new())),
        ..write::EraseConversationRequest::default()
    };
    let mut writer = state.commands.write_for(&caller.service.call);
    let answer = writer.erase_conversation(erase).await;
    result_for_caller(answer, |answer| answer.result).map_err(rejected)?;
    Ok(Json(deleted))
}

/// Whether an earlier attempt has erased the conversation of the agent.
async fn was_erased(
    state: &HttpState,
    caller: &OpenAiCaller,
    access: &AgentAccess,
    key: &ConversationKey,
) -> Result<bool, HttpProblem> {
    let last = caller
        .service
        .call
        .deadline
        .record(state.gateway.reader.archive.last_commit(key))
        .await
        .map_err(problem::from_problem)?;
    let head = last
        .map(|last| last.open_head())
        .transpose()
        .map_err(|corrupt| problem::from_problem(crate::problem::of_corrupt(&corrupt)))?;
    Ok(head.is_some_and(|head| {
        head.status == Status::Erased && head.agent == access.agent && is_within_window(head.recorded_at, state.now())
    }))
}
