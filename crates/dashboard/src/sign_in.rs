//! `/dashboard/sign-in`: how people sign in.

pub mod link;
pub mod provider;
pub mod show_sign_in;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use identity::{DashboardUse, NewPerson};
use runtime::http::HttpProblem;
use wire::status::Reason;

use super::audit::{Action, DashboardAction, record_for};
use super::{BASE_PATH, session_cookie};
use http_listener::openid::Provider;
use http_listener::state::HttpState;

/// Maximum length of a URL to come back to after the sign-in, in bytes.
pub const NEXT_BYTES_MAX: usize = 2_048;

/// The URL of the sign-in that comes back to a page.
pub(super) fn url_with_next(next: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("next", page_or_first(Some(next)));
    format!("{BASE_PATH}/sign-in?{}", query.finish())
}

/// A page of the dashboard to come back to; the first page for everything else, so that no link leads to another site.
pub(super) fn page_or_first(next: Option<&str>) -> &str {
    let is_page = |next: &&str| {
        let rest = next.strip_prefix(BASE_PATH);
        let is_below = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest.starts_with('?'));
        let is_plain = next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        is_below && is_plain && next.len() <= NEXT_BYTES_MAX
    };
    next.filter(is_page).unwrap_or(BASE_PATH)
}

/// The configured provider.
///
/// # Errors
/// 404 if there is none.
pub(super) fn provider_of(state: &HttpState) -> Result<&Provider, HttpProblem> {
    state.provider.as_deref().ok_or_else(|| {
        let detail = "no provider is configured: sign in with a link";
        HttpProblem::new(StatusCode::NOT_FOUND, "NO_PROVIDER", detail)
    })
}

/// Starts a session, records it in the audit log, and goes to a page. `means` says how the person signed in.
///
/// # Errors
/// The tenant does not exist, or the audit log cannot be written.
pub(super) async fn start_session(
    state: &HttpState,
    person: NewPerson,
    means: &str,
    next: &str,
) -> Result<Response, HttpProblem> {
    let registry = &state.gateway.registry;
    let issued = registry.issue_dashboard_token(DashboardUse::Session, person, state.now());
    let (_, token) = issued.ok_or_else(sign_in_failed)?;
    let action = Action { action: DashboardAction::SignedIn, conversation: None, detail: means };
    record_for(state, &token, action).await?;
    let cookie = session_cookie::set(&token).ok_or_else(sign_in_failed)?;
    Ok(with_cookie(next, cookie))
}

/// Goes to a page, and sets a cookie.
pub(super) fn with_cookie(page: &str, cookie: HeaderValue) -> Response {
    let mut response = Redirect::to(page).into_response();
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    response
}

/// The same answer for a link that is unknown, used or expired.
pub(super) fn sign_in_failed() -> HttpProblem {
    let detail = "the link is invalid, was used or has expired: ask an operator for another";
    let code = Reason::Unauthenticated.as_str();
    HttpProblem::new(StatusCode::UNAUTHORIZED, code, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_comes_back_to_pages_of_the_dashboard_only() {
        let long = format!("/dashboard/{}", "a".repeat(NEXT_BYTES_MAX));
        for (next, expected) in [
            ("/dashboard", "/dashboard"),
            ("/dashboard?q=agent%3Aa", "/dashboard?q=agent%3Aa"),
            ("/dashboard/usage", "/dashboard/usage"),
            ("/dashboards", "/dashboard"),
            ("//evil.example/dashboard", "/dashboard"),
            ("https://evil.example/dashboard", "/dashboard"),
            ("/dashboard\\@evil.example", "/dashboard"),
            ("/dashboard/\r\nx: y", "/dashboard"),
            ("", "/dashboard"),
            (&long, "/dashboard"),
        ] {
            assert_eq!(page_or_first(Some(next)), expected, "{next}");
        }
        assert_eq!(page_or_first(None), "/dashboard");
        let expected = "/dashboard/sign-in?next=%2Fdashboard%3Fq%3Da";
        assert_eq!(url_with_next("/dashboard?q=a"), expected);
    }
}
