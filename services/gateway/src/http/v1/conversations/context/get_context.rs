//! `GET /v1/conversations/{id}/context`: what a model reads next, rendered in a format.

use axum::extract::State;
use runtime::http::{HttpProblem, Json, Path, Query};

use super::rendered_context::{ContextQuery, RenderedContextBody, render};
use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::state::HttpState;

/// Assemble a context.
///
/// The context contains every commit that was acknowledged before the request. The same version, policy and format give the same
/// bytes later.
#[utoipa::path(
    get,
    path = "/v1/conversations/{id}/context",
    tag = "conversations",
    params(
        ("id" = String, Path, description = "The conversation."),
        ContextQuery,
        ServiceHeaders,
    ),
    responses((status = 200, description = "The context and its receipt.", body = RenderedContextBody)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn get_context(
    State(state): State<HttpState>,
    service: Service,
    Path(id): Path<String>,
    Query(query): Query<ContextQuery>,
) -> Result<Json<RenderedContextBody>, HttpProblem> {
    query.format()?;
    let target = service.target(&state, &id).await?;
    Ok(Json(render(&state, &target, query).await?))
}
