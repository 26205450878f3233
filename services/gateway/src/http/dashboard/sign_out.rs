//! `POST /dashboard/sign-out`: ends the session, on every gateway.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use runtime::http::HttpProblem;
use wire::proto::operate::v1::EndDashboardTokenRequest;

use super::person::sign_in_required;
use super::session_cookie;
use super::sign_in::with_cookie;
use crate::http::HttpState;
use crate::http::commands::{COMMAND_MAX, problem_from_status};

pub(super) async fn sign_out(
    State(state): State<HttpState>,
    headers: HeaderMap,
) -> Result<Response, HttpProblem> {
    let request = EndDashboardTokenRequest {
        token: session_cookie::token(&headers).ok_or_else(sign_in_required)?,
        is_session: true,
    };
    let mut writer = state.commands.writer().registry(COMMAND_MAX);
    let ended = writer.end_dashboard_token(request).await;
    // Without it, the session goes on elsewhere: the person must know.
    ended.map_err(|status| problem_from_status(&status))?;
    let cleared = session_cookie::clear().ok_or_else(sign_in_required)?;
    Ok(with_cookie("/dashboard/sign-in", cleared))
}
