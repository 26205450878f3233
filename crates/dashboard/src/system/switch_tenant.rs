//! `POST /dashboard/system/tenant`: ends the session, and starts one of another tenant for the same operator.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use domain::TenantId;
use runtime::http::HttpProblem;
use serde::Deserialize;
use wire::proto::operate::v1::EndDashboardTokenRequest;

use super::PATH;
use crate::audit::{Action, DashboardAction, record, record_for};
use crate::form::Form;
use crate::person::Person;
use crate::person::sign_in_required;
use crate::session_cookie;
use crate::sign_in::with_cookie;
use conversations::commands::own_problem;
use http_listener::state::HttpState;

#[derive(Debug, Deserialize)]
pub(crate) struct TenantForm {
    tenant: String,
}

pub(crate) async fn switch_tenant(
    State(state): State<HttpState>,
    person: Person,
    Form(form): Form<TenantForm>,
) -> Result<Response, HttpProblem> {
    let to = TenantId::parse(form.tenant.trim()).map_err(|_| tenant_not_found())?;
    let registry = &state.gateway.registry;
    let token = registry.switch_dashboard_tenant(&person.session, &to).ok_or_else(tenant_not_found)?;
    let entry = |action, detail| Action { action, conversation: None, detail };
    // Administrators read the log of their tenant: it names no other one.
    let arrived = entry(DashboardAction::SignedIn, "from another tenant");
    record_for(&state, &token, arrived).await?;
    let left = entry(DashboardAction::SignedOut, "to another tenant");
    record(&state, &person, left).await?;
    let request = EndDashboardTokenRequest { token: person.token, is_session: true };
    let mut service = state.commands.registry();
    service.end_dashboard_token(request).await.map_err(own_problem)?;
    let cookie = session_cookie::set(&token).ok_or_else(sign_in_required)?;
    Ok(with_cookie(PATH, cookie))
}

/// The same answer for a tenant that does not exist and for a session of one tenant.
fn tenant_not_found() -> HttpProblem {
    let detail =
        "tenant is none that this session may switch to: choose one of the list, or sign in with a link for it";
    let status = StatusCode::NOT_FOUND;
    HttpProblem::new(status, "TENANT_NOT_FOUND", detail)
}
