//! `GET /healthz`: whether the gateway can do its work, for balancers.

use axum::extract::State;
use axum::http::StatusCode;
use runtime::http::{HttpProblem, Json};
use serde::Serialize;
use utoipa::ToSchema;

use super::state::HttpState;

/// The gateway can do its work.
#[derive(Debug, Serialize, ToSchema)]
pub struct HealthBody {
    /// Always `ok`: otherwise the answer is a problem.
    status: &'static str,
}

/// Whether the gateway can do its work.
///
/// 503 `NOT_READY` while something that it needs does not answer; operators read which on their own port.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "service",
    responses((status = 200, description = "It can.", body = HealthBody))
)]
pub(super) async fn get_health(
    State(state): State<HttpState>,
) -> Result<Json<HealthBody>, HttpProblem> {
    if state.health.snapshot().is_ready() {
        return Ok(Json(HealthBody { status: "ok" }));
    }
    let detail = "something that the gateway needs does not answer: try again";
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let retry_after = std::time::Duration::from_millis(state.section.server.retry_after_ms);
    Err(HttpProblem::new(status, "NOT_READY", detail).retry_after(retry_after))
}
