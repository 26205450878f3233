//! `POST /dashboard/sign-out`: ends the session, on every gateway.

use axum::extract::State;
use axum::response::Response;
use runtime::http::HttpProblem;
use wire::proto::operate::v1::EndDashboardTokenRequest;

use super::audit::{Action, DashboardAction, record};
use super::person::sign_in_required;
use super::session_cookie;
use super::sign_in::with_cookie;
use crate::person::Person;
use conversations::commands::own_problem;
use http_listener::state::HttpState;

pub(super) async fn sign_out(State(state): State<HttpState>, person: Person) -> Result<Response, HttpProblem> {
    let action = Action { action: DashboardAction::SignedOut, conversation: None, detail: "" };
    record(&state, &person, action).await?;
    let request = EndDashboardTokenRequest { token: person.token, is_session: true };
    let mut registry = state.commands.registry();
    let ended = registry.end_dashboard_token(request).await;
    // Without it, the session remains valid on other devices: the person must know.
    ended.map_err(own_problem)?;
    let cleared = session_cookie::clear().ok_or_else(sign_in_required)?;
    Ok(with_cookie("/dashboard/sign-in", cleared))
}
