//! `GET /openai/v1/conversations/{id}`: a conversation without its items.

use axum::extract::State;
use runtime::http::{HttpProblem, Json, Path};

use super::{ConversationObject, object};
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use http_listener::state::HttpState;

/// A conversation without its items.
#[utoipa::path(
    get,
    path = "/openai/v1/conversations/{id}",
    tag = "openai",
    params(("id" = String, Path, description = "The conversation."), OpenAiHeaders),
    responses((status = 200, description = "The conversation.", body = ConversationObject)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn get_openai_conversation(
    State(state): State<HttpState>,
    caller: OpenAiCaller,
    Path(id): Path<String>,
) -> Result<Json<ConversationObject>, HttpProblem> {
    let target = caller.target(&state, &id).await?;
    object(caller.open(&state, &target).await?).await.map(Json)
}
