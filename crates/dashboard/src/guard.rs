//! What is checked before a page: origin, session, role and the token of forms.
//!
//! A GET changes nothing. A POST must come from a page of the same origin (`Sec-Fetch-Site`, else `Origin`), and, with a
//! session, must contain the token of the session's forms: as the field `form_token`, or as the header `x-form-token` of a
//! script. Sources: <https://www.w3.org/TR/fetch-metadata/>, the OWASP cheat sheet on cross-site request forgery.

use axum::body::Body;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use bytes::Bytes;
use identity::{DashboardKey, DashboardUse, Role};
use pages::components::FORM_TOKEN_FIELD;
use runtime::http::{CODE_BODY_TOO_LARGE, HttpProblem};

use super::person::sign_in_required;
use super::{session_cookie, sign_in};
use crate::person::Person;
use http_listener::state::HttpState;

/// Most bytes of a form.
pub const FORM_BYTES_MAX: usize = 256 * 1024;
/// The token of forms, in requests of scripts.
const FORM_TOKEN_HEADER: &str = "x-form-token";
const FETCH_SITE: &str = "sec-fetch-site";
const FETCH_MODE: &str = "sec-fetch-mode";

/// Who may see a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody.
    Public,
    /// People with this role, or a higher one.
    Role(Role),
}

/// What the layer of a route needs.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    pub(super) state: HttpState,
    pub(super) access: Access,
}

/// Admits a request to a page, and renews the person's session.
pub(super) async fn layer(State(guard): State<Guard>, request: Request, next: Next) -> Result<Response, HttpProblem> {
    let Guard { state, access } = guard;
    let is_post = request.method() == Method::POST;
    if is_post {
        check_origin(request.headers(), request.uri().authority())?;
    }
    let Access::Role(role) = access else {
        return Ok(next.run(request).await);
    };
    let Some((person, key)) = person(&state, request.headers()) else {
        return unidentified(&request);
    };
    if person.role < role {
        return Err(role_too_low(role));
    }
    let (mut parts, mut body) = request.into_parts();
    if is_post {
        let form = read(&parts, body).await?;
        check_form_token(&parts.headers, &form, &person, &key)?;
        body = Body::from(form);
    }
    let renewed = person.session.renewed(state.now()).map(|session| key.sign(DashboardUse::Session, &session));
    parts.extensions.insert(person);
    let mut response = next.run(Request::from_parts(parts, body)).await;
    let cookie = renewed.and_then(|token| session_cookie::set(&token));
    // A handler that ends the session sets the cookie itself.
    if let Some(cookie) = cookie
        && !response.headers().contains_key(header::SET_COOKIE)
    {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// The person of the session in the cookie, and the key of their tenant.
pub(super) fn person(state: &HttpState, headers: &HeaderMap) -> Option<(Person, DashboardKey)> {
    let registry = &state.gateway.registry;
    let token = session_cookie::token(headers)?;
    let access = registry.verify_dashboard_token(DashboardUse::Session, &token, state.now())?;
    let key = registry.dashboard_key(access.tenant.tenant())?;
    let form_token = key.form_token(&access.person);
    Some((Person::new(access, token, form_token), key))
}

/// A navigation goes to the sign-in and comes back; a form or a script gets a problem.
fn unidentified(request: &Request) -> Result<Response, HttpProblem> {
    let mode = request.headers().get(FETCH_MODE);
    let is_navigation = mode.is_none_or(|mode| mode == "navigate");
    if request.method() != Method::GET || !is_navigation {
        return Err(sign_in_required());
    }
    let url = request.uri().path_and_query();
    let next = url.map_or(super::BASE_PATH, |url| url.as_str());
    Ok(Redirect::to(&sign_in::url_with_next(next)).into_response())
}

/// Whether a request that changes something is from a page of the same origin.
fn check_origin(headers: &HeaderMap, authority: Option<&Authority>) -> Result<(), HttpProblem> {
    let is_same = match (headers.get(FETCH_SITE), headers.get(header::ORIGIN)) {
        (Some(site), _) => site == "same-origin",
        (None, Some(origin)) => is_own_origin(origin, headers, authority),
        (None, None) => false,
    };
    if is_same {
        return Ok(());
    }
    let detail = "forms of the dashboard are accepted from its own pages only: open the page and send its form";
    let status = StatusCode::FORBIDDEN;
    Err(HttpProblem::new(status, "ORIGIN_NOT_ALLOWED", detail))
}

/// Whether an origin has the host and the port of the request. A proxy may have changed the scheme.
fn is_own_origin(origin: &HeaderValue, headers: &HeaderMap, authority: Option<&Authority>) -> bool {
    let host =
        headers.get(header::HOST).and_then(|host| host.to_str().ok()).or_else(|| authority.map(Authority::as_str));
    let origin = origin.to_str().ok();
    let origin = origin.and_then(|origin| {
        let plain = origin.strip_prefix("http://");
        origin.strip_prefix("https://").or(plain)
    });
    origin.is_some() && origin == host
}

async fn read(parts: &Parts, body: Body) -> Result<Bytes, HttpProblem> {
    let mut request = Request::new(body);
    *request.headers_mut() = parts.headers.clone();
    *request.extensions_mut() = parts.extensions.clone();
    let body = Bytes::from_request(request, &()).await;
    body.map_err(|rejection| {
        let status = rejection.status();
        if status == StatusCode::PAYLOAD_TOO_LARGE {
            let detail = format!("the form is larger than {FORM_BYTES_MAX} bytes: send less");
            return HttpProblem::new(status, CODE_BODY_TOO_LARGE, detail);
        }
        let detail = "the body ended early or cannot be read: send it again";
        HttpProblem::new(StatusCode::BAD_REQUEST, "BODY_UNREADABLE", detail)
    })
}

fn check_form_token(headers: &HeaderMap, form: &[u8], person: &Person, key: &DashboardKey) -> Result<(), HttpProblem> {
    let header = headers.get(FORM_TOKEN_HEADER).and_then(|value| value.to_str().ok());
    let token = header.map(str::to_owned).or_else(|| {
        let mut fields = form_urlencoded::parse(form);
        fields.find_map(|(name, value)| (name == FORM_TOKEN_FIELD).then(|| value.into_owned()))
    });
    if token.is_some_and(|token| key.is_form_token(&person.session, &token)) {
        return Ok(());
    }
    let detail = "the form is of an earlier session: reload the page and send it again";
    let status = StatusCode::FORBIDDEN;
    Err(HttpProblem::new(status, "FORM_TOKEN_INVALID", detail))
}

fn role_too_low(role: Role) -> HttpProblem {
    let role = role.as_str();
    let detail = format!("this needs the role {role}: ask an administrator of the tenant");
    HttpProblem::new(StatusCode::FORBIDDEN, "ROLE_TOO_LOW", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_accepted_from_the_same_origin_only() {
        let check = |given: &[(&'static str, &'static str)], expected: bool| {
            let mut headers = HeaderMap::new();
            for (name, value) in given {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            assert_eq!(check_origin(&headers, None).is_ok(), expected, "{given:?}");
        };
        let host = ("host", "hansard.example:8443");
        check(&[host], false);
        check(&[host, ("origin", "https://hansard.example:8443")], true);
        check(&[host, ("origin", "http://hansard.example:8443")], true);
        check(&[host, ("origin", "https://hansard.example")], false);
        check(&[host, ("origin", "https://evil.example:8443")], false);
        check(&[host, ("origin", "null")], false);
        check(&[host, ("origin", "hansard.example:8443")], false);
        check(&[("origin", "https://hansard.example")], false);
        let origin = ("origin", "https://hansard.example:8443");
        check(&[host, origin, ("sec-fetch-site", "same-origin")], true);
        for site in ["same-site", "cross-site", "none"] {
            let site = ("sec-fetch-site", site);
            check(&[host, origin, site], false);
        }
    }
}
