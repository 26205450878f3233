//! `POST /api/sessions`: issues a session to a caller without a user.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use runtime::http::{HttpProblem, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use api_json::instant::rfc3339;
use http_listener::callers::frontend::Frontend;
use http_listener::callers::session_renewal::Transport;
use http_listener::state::HttpState;

/// How the caller stores the session.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct IssueSessionBody {
    /// How the caller stores the session; absent: `header`.
    #[serde(default)]
    transport: Transport,
}

/// The session.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IssuedSessionBody {
    /// The session: a secret, to be sent as the header `x-session-id`. Absent if it is a cookie.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "hsess_CQkJCQkJCQkJCQkJCQkJCQAAAABle2GA")]
    session_id: Option<String>,
    /// When it expires unless it is used: RFC 3339.
    #[schema(example = "2026-12-22T05:00:00Z")]
    expires_at: String,
}

/// Issue a session.
///
/// It is valid for 30 days. The answer to a request in the second half renews it, with the header `x-session-id` or the
/// cookie. It expires 180 days after its issue, unless the deployment sets another maximum age. The owner of what it
/// creates is derived from it and does not reveal it.
#[utoipa::path(
    post,
    path = "/api/sessions",
    tag = "sessions",
    request_body = IssueSessionBody,
    responses((status = 201, description = "The session.", body = IssuedSessionBody)),
    security(("api_key" = []))
)]
pub(in crate::http) async fn issue_session(
    State(state): State<HttpState>,
    frontend: Frontend,
    Json(body): Json<IssueSessionBody>,
) -> Result<Response, HttpProblem> {
    let issued = frontend.issue(&state, body.transport)?;
    let is_shown = body.transport == Transport::Header;
    let body =
        IssuedSessionBody { session_id: is_shown.then_some(issued.token), expires_at: rfc3339(issued.expires_at) };
    let mut response = (StatusCode::CREATED, Json(body)).into_response();
    if let Some((name, value)) = issued.header {
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}
