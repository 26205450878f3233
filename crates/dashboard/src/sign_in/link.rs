//! `/dashboard/sign-in/link`: signs in with a one-time link.
//!
//! GET asks and changes nothing, so that a preview of the link does not use it; POST uses it.

use axum::extract::State;
use axum::response::Response;
use identity::DashboardUse;
use pages::dashboard::sign_in_link::{SignInLinkPage, sign_in_link};
use runtime::http::{HttpProblem, Query};
use serde::Deserialize;
use wire::proto::operate::v1::EndDashboardTokenRequest;

use super::{sign_in_failed, start_session};
use crate::BASE_PATH;
use crate::form::Form;
use crate::page::Page;
use conversations::commands::own_problem;
use http_listener::state::HttpState;

/// The token of the link. No `Debug`: it is a secret.
#[derive(Deserialize)]
pub(crate) struct LinkToken {
    token: String,
}

pub(crate) async fn show_link(
    State(state): State<HttpState>,
    Query(link): Query<LinkToken>,
) -> Result<Page, HttpProblem> {
    let registry = &state.gateway.registry;
    let access = registry.verify_dashboard_token(DashboardUse::Link, &link.token, state.now());
    let person = access.ok_or_else(sign_in_failed)?.person;
    Ok(Page(sign_in_link(SignInLinkPage {
        name: person.subject().as_str(),
        tenant: person.tenant().as_str(),
        role: person.role(),
        token: &link.token,
    })))
}

pub(crate) async fn use_link(
    State(state): State<HttpState>,
    Form(link): Form<LinkToken>,
) -> Result<Response, HttpProblem> {
    let registry = &state.gateway.registry;
    let access = registry.verify_dashboard_token(DashboardUse::Link, &link.token, state.now());
    let person = access.ok_or_else(sign_in_failed)?.person;
    let request = EndDashboardTokenRequest { token: link.token, is_session: false };
    let mut service = state.commands.registry();
    let ended = service.end_dashboard_token(request).await.map_err(own_problem)?;
    // Of concurrent uses, one ends the link.
    if !ended.into_inner().has_ended {
        return Err(sign_in_failed());
    }
    start_session(&state, person.to_new(), "link", BASE_PATH).await
}
