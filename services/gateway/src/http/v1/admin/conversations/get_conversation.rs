//! `GET /v1/admin/conversations/{id}`: any conversation of the tenant.

use axum::extract::State;
use runtime::http::{HttpProblem, Json, Path};

use api_json::conversation::ConversationBody;
use conversations::open::read_conversation;
use http_listener::callers::admin::Admin;
use http_listener::state::HttpState;

/// A conversation of the tenant.
#[utoipa::path(
    get,
    path = "/v1/admin/conversations/{id}",
    tag = "admin",
    params(("id" = String, Path, description = "The conversation.")),
    responses((status = 200, description = "The conversation.", body = ConversationBody)),
    security(("bearer" = []))
)]
pub(in crate::http) async fn get_conversation(
    State(state): State<HttpState>,
    admin: Admin,
    Path(id): Path<String>,
) -> Result<Json<ConversationBody>, HttpProblem> {
    let target = admin.target(&state, &id).await?;
    let (conversation, _) = read_conversation(&state, &target).await?;
    Ok(Json(ConversationBody::from(&conversation)))
}
