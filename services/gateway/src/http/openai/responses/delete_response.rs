//! `DELETE /openai/v1/responses/{id}`: deletes a recorded response.

use axum::extract::State;

use domain::Version;
use domain::event::{Fact, HistoryRewound};
use registry::Scope;
use runtime::http::{HttpProblem, Json, Path};
use serde::Serialize;
use utoipa::ToSchema;
use wire::proto::write::v1 as write;

use super::recorded::{RecordedResponse, version_without_items_after};
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use crate::http::openai::rejected::rejected;
use conversations::commands::command_target;
use http_listener::state::HttpState;

/// The version before the first response of a conversation of its own: only its creation.
const CREATED: u64 = 1;

/// A deleted response.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeletedResponseObject {
    /// The id of the response.
    id: String,
    /// Always `response`.
    object: &'static str,
    /// Always `true`.
    deleted: bool,
}

/// Delete a response.
///
/// The only response of its conversation is erased with it; this needs the scope `erase`. The newest of several is hidden: no
/// list, context or later response contains it, and it stays in the record until the conversation is erased. A response that
/// others continue is rejected with 400 `RESPONSE_CONTINUED`.
#[utoipa::path(
    delete,
    path = "/openai/v1/responses/{id}",
    tag = "openai",
    params(("id" = String, Path, description = "The response."), OpenAiHeaders),
    responses((status = 200, description = "It is deleted.", body = DeletedResponseObject)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn delete_response(
    State(state): State<HttpState>,
    caller: OpenAiCaller,
    Path(id): Path<String>,
) -> Result<Json<DeletedResponseObject>, HttpProblem> {
    let found = RecordedResponse::find(&state, &caller, &id).await?;
    let Some((_, end)) = &found.end else {
        let detail = "the response is in progress: cancel it first";
        return Err(HttpProblem::of_field("RESPONSE_IN_PROGRESS", "response_id", detail));
    };
    let version = version_without_items_after(&state, &found.target, *end).await?;
    let Some(version) = version else {
        let detail = "later items of the conversation continue the response: delete them first, or the conversation";
        return Err(HttpProblem::of_field("RESPONSE_CONTINUED", "response_id", detail));
    };
    let is_first = found.noted.input_from == CREATED + 1;
    if is_first && !found.noted.names_conversation {
        erase(&state, &caller, &found).await?;
    } else {
        hide(&state, &caller, &found, version).await?;
    }
    Ok(Json(DeletedResponseObject { id, object: "response", deleted: true }))
}

async fn erase(state: &HttpState, caller: &OpenAiCaller, found: &RecordedResponse) -> Result<(), HttpProblem> {
    let agent = found.target.access.agent.as_str();
    caller.service.access(state, Scope::Erase, Some(agent)).await?;
    let conversation = &found.target.key.conversation;
    let erase = write::EraseConversationRequest {
        target: Some(command_target(&found.target.access.agent, conversation, None)),
        ..write::EraseConversationRequest::default()
    };
    caller.request(state).send(erase).await.map_err(rejected)?;
    Ok(())
}

/// Rewinds the conversation of this version to before the input.
async fn hide(
    state: &HttpState,
    caller: &OpenAiCaller,
    found: &RecordedResponse,
    version: Version,
) -> Result<(), HttpProblem> {
    let rewound = Fact::from(HistoryRewound { to: Version(found.noted.input_from.saturating_sub(1)) });
    let conversation = &found.target.key.conversation;
    let append = write::AppendEventsRequest {
        target: Some(write::CommandTarget {
            expected_version: Some(version.0),
            ..command_target(&found.target.access.agent, conversation, None)
        }),
        events: vec![wire::event::fact_to_proto(&rewound)],
        ..write::AppendEventsRequest::default()
    };
    caller.request(state).send(append).await.map_err(rejected)?;
    Ok(())
}
