//! `GET /dashboard/sign-in/callback`: the provider's answer.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use identity::{DashboardUse, NewPerson};
use pages::dashboard::choose_tenant::{ChooseTenantPage, TenantChoice, choose_tenant};
use runtime::http::{HttpProblem, Query};
use serde::Deserialize;

use super::{attempt_cookie, from_provider, sign_in_rejected};
use crate::page::Page;
use crate::sign_in::{page_or_first, provider_of, start_session};
use http_listener::openid::{Attempt, Callback, people};
use http_listener::state::HttpState;

/// The provider's answer. No `Debug`: the code is a secret.
#[derive(Default, Deserialize)]
pub(crate) struct CallbackQuery {
    code: Option<String>,
    state: Option<String>,
    /// The provider's error, such as `access_denied`.
    error: Option<String>,
    /// The issuer (RFC 9207).
    iss: Option<String>,
}

pub(crate) async fn finish_sign_in(
    State(state): State<HttpState>,
    headers: HeaderMap,
    Query(query): Query<CallbackQuery>,
) -> Result<Response, HttpProblem> {
    let provider = provider_of(&state)?;
    let attempt = attempt_cookie::attempt(&headers).ok_or_else(sign_in_rejected)?;
    let claims = provider.claims(&attempt, callback(&query, &attempt)?, state.now()).await.map_err(from_provider)?;
    let mut people = people(provider.section(), &claims);
    let mut response = match (people.pop(), people.is_empty()) {
        (None, _) => return Err(no_grant()),
        (Some(person), true) => {
            let next = page_or_first(Some(&attempt.next));
            start_session(&state, person, "provider", next).await?
        }
        (Some(last), false) => {
            people.push(last);
            choice(&state, people)?
        }
    };
    if let Some(cookie) = attempt_cookie::clear() {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// The answer, if it is of this attempt.
fn callback<'a>(query: &'a CallbackQuery, attempt: &Attempt) -> Result<Callback<'a>, HttpProblem> {
    let is_own = query.state.as_ref() == Some(&attempt.state);
    let code = query.code.as_deref().filter(|_| is_own && query.error.is_none());
    Ok(Callback { code: code.ok_or_else(sign_in_rejected)?, issuer: query.iss.as_deref() })
}

/// A page with a one-time link for each tenant.
fn choice(state: &HttpState, people: Vec<NewPerson>) -> Result<Response, HttpProblem> {
    let registry = &state.gateway.registry;
    // Tenants that do not exist are left out.
    let choices: Vec<TenantChoice> = people
        .into_iter()
        .filter_map(|person| {
            let (person, token) = registry.issue_dashboard_token(DashboardUse::Link, person, state.now())?;
            Some(TenantChoice { tenant: person.tenant().as_str().to_owned(), role: person.role(), token })
        })
        .collect();
    if choices.is_empty() {
        return Err(no_grant());
    }
    let page = ChooseTenantPage { choices: &choices };
    Ok(Page(choose_tenant(page)).into_response())
}

fn no_grant() -> HttpProblem {
    let detail = "your account has no access to the dashboard: ask an administrator for it";
    HttpProblem::new(StatusCode::FORBIDDEN, "NO_DASHBOARD_ACCESS", detail)
}
