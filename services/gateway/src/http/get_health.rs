//! `GET /healthz`: whether the gateway is ready, for load balancers.

use axum::extract::State;
use axum::http::StatusCode;
use runtime::http::{HttpProblem, Json};
use serde::Serialize;
use utoipa::ToSchema;

use http_listener::state::HttpState;

/// The gateway is ready.
#[derive(Debug, Serialize, ToSchema)]
pub struct HealthBody {
    /// Always `ok`; if the gateway is not ready, the answer is a problem.
    status: &'static str,
}

/// Whether the gateway is ready.
///
/// 503 `NOT_READY` while a service that the gateway needs does not answer. The operators' port lists which one.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "service",
    responses((status = 200, description = "The gateway is ready.", body = HealthBody))
)]
pub(super) async fn get_health(State(state): State<HttpState>) -> Result<Json<HealthBody>, HttpProblem> {
    if state.health.snapshot().is_ready() {
        return Ok(Json(HealthBody { status: "ok" }));
    }
    let detail = "a service that the gateway needs does not answer: try again";
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let retry_after = std::time::Duration::from_millis(state.section.server.retry_after_ms);
    Err(HttpProblem::new(status, "NOT_READY", detail).retry_after(retry_after))
}
