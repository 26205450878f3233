//! `GET /v1/conversations/{id}`: a conversation without its events.

use axum::extract::State;
use runtime::http::{HttpProblem, Json, Path};

use api_json::conversation::ConversationBody;
use conversations::open::read_conversation;
use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::state::HttpState;

/// A conversation without its events.
#[utoipa::path(
    get,
    path = "/v1/conversations/{id}",
    tag = "conversations",
    params(("id" = String, Path, description = "The conversation."), ServiceHeaders),
    responses((status = 200, description = "The conversation.", body = ConversationBody)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn get_recorded_conversation(
    State(state): State<HttpState>,
    service: Service,
    Path(id): Path<String>,
) -> Result<Json<ConversationBody>, HttpProblem> {
    let target = service.target(&state, &id).await?;
    let (conversation, _) = read_conversation(&state, &target).await?;
    Ok(Json(ConversationBody::from(&conversation)))
}
