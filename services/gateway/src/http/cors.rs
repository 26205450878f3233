//! Which pages may ask: the origins that the caller's API key allows, judged per request.
//!
//! A preflight carries no key, so that it is answered for any origin and allows nothing by itself; the request after it is
//! refused where its key does not allow the origin. Cookies are for pages whose origin is listed by name, see
//! `session_cookie`. Source: <https://fetch.spec.whatwg.org/>.

use std::sync::{Arc, OnceLock};

use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use runtime::http::HttpProblem;

/// Stands in a key's origins for every origin.
pub const ANY_ORIGIN: &str = "*";

/// How long a browser may keep the answer to a preflight, in seconds.
const PREFLIGHT_MAX_AGE_S: &str = "600";

const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE";

/// The headers of requests that every page may send, where a preflight asks for none by name.
const REQUEST_HEADERS: &str = "authorization, content-type, idempotency-key, last-event-id, x-api-key, x-position-token, \
                               x-session-id, x-user-id, x-user-token";

/// The headers of answers that pages may read.
const EXPOSED_HEADERS: &str = "location, content-disposition, x-request-id, x-run-id, x-session-id, retry-after, ratelimit-limit, \
                               ratelimit-remaining, ratelimit-reset, x-position-token, x-vercel-ai-ui-message-stream";

const TRUE: HeaderValue = HeaderValue::from_static("true");

const PREFLIGHT_VARY: &str =
    "origin, access-control-request-method, access-control-request-headers";

/// What is decided about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It names no origin: it comes from no page.
    NoPage,
    /// The page may ask, and may read the answer.
    Allowed(HeaderValue),
    /// The page may not ask.
    Refused,
}

/// Whether a list names an origin itself: [`ANY_ORIGIN`] names none.
#[must_use]
pub fn is_listed(origin: &[u8], allowed: &[String]) -> bool {
    let is_it =
        |known: &String| known != ANY_ORIGIN && known.as_bytes().eq_ignore_ascii_case(origin);
    allowed.iter().any(is_it)
}

/// Judges the `Origin` of a request by the origins that its key allows: exact ones such as `https://example.org`, or
/// [`ANY_ORIGIN`]. No origins: no page.
#[must_use]
pub fn decide(origin: Option<&HeaderValue>, allowed: &[String]) -> Decision {
    let Some(origin) = origin else {
        return Decision::NoPage;
    };
    let is_any = allowed.iter().any(|known| known == ANY_ORIGIN);
    if is_any || is_listed(origin.as_bytes(), allowed) {
        Decision::Allowed(origin.clone())
    } else {
        Decision::Refused
    }
}

/// Judges a request once its key is known; the answer then tells the browser by itself.
///
/// # Errors
/// 403 `ORIGIN_NOT_ALLOWED`.
pub fn admit(parts: &Parts, allowed: &[String]) -> Result<(), HttpProblem> {
    match decide(parts.headers.get(header::ORIGIN), allowed) {
        Decision::NoPage => Ok(()),
        Decision::Allowed(origin) => {
            if let Some(Verdict(verdict)) = parts.extensions.get() {
                let credentials = is_listed(origin.as_bytes(), allowed);
                // A second judgement of one request is the same.
                let _ = verdict.set(Admitted {
                    origin,
                    credentials,
                });
            }
            Ok(())
        }
        Decision::Refused => {
            let detail = "the page's origin is not allowed: add it to the API key, for administrators to any key of the tenant";
            let status = StatusCode::FORBIDDEN;
            Err(HttpProblem::new(status, "ORIGIN_NOT_ALLOWED", detail))
        }
    }
}

/// What is told to the browser, once it is known.
#[derive(Debug, Clone, Default)]
struct Verdict(Arc<OnceLock<Admitted>>);

#[derive(Debug)]
struct Admitted {
    origin: HeaderValue,
    /// Whether the page may send cookies and read the answer.
    credentials: bool,
}

/// Answers preflights, and tells browsers what was judged.
pub(super) async fn layer(mut request: Request, next: Next) -> Response {
    let Some(origin) = request.headers().get(header::ORIGIN).cloned() else {
        return next.run(request).await;
    };
    if is_preflight(&request) {
        return preflight(origin, request.headers());
    }
    let verdict = Verdict::default();
    request.extensions_mut().insert(verdict.clone());
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(admitted) = verdict.0.get() {
        let origin = admitted.origin.clone();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if admitted.credentials {
            headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, TRUE);
        }
        let exposed = HeaderValue::from_static(EXPOSED_HEADERS);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
    response
}

fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight(origin: HeaderValue, asked: &HeaderMap) -> Response {
    let headers = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let headers = headers.unwrap_or(HeaderValue::from_static(REQUEST_HEADERS));
    let answer: [(HeaderName, HeaderValue); 6] = [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, origin),
        (header::ACCESS_CONTROL_ALLOW_CREDENTIALS, TRUE),
        (
            header::ACCESS_CONTROL_ALLOW_METHODS,
            HeaderValue::from_static(METHODS),
        ),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, headers),
        (
            header::ACCESS_CONTROL_MAX_AGE,
            HeaderValue::from_static(PREFLIGHT_MAX_AGE_S),
        ),
        (header::VARY, HeaderValue::from_static(PREFLIGHT_VARY)),
    ];
    (StatusCode::NO_CONTENT, answer).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(origin: Option<&str>, allowed: &[&str], expected: Option<bool>) {
        let value = origin.map(|origin| HeaderValue::from_str(origin).unwrap());
        let list: Vec<String> = allowed.iter().map(|&known| known.to_owned()).collect();
        let decision = match expected {
            None => Decision::NoPage,
            Some(true) => Decision::Allowed(value.clone().unwrap()),
            Some(false) => Decision::Refused,
        };
        assert_eq!(
            decide(value.as_ref(), &list),
            decision,
            "{origin:?} {allowed:?}"
        );
    }

    #[test]
    fn an_origin_is_allowed_only_by_name_or_by_all() {
        let page = Some("https://example.org");
        check(None, &[], None);
        check(None, &["https://example.org"], None);
        check(page, &[], Some(false));
        check(page, &["https://example.org"], Some(true));
        check(page, &["https://EXAMPLE.org"], Some(true));
        check(
            page,
            &["https://other.org", "https://example.org"],
            Some(true),
        );
        check(page, &["*"], Some(true));
        check(page, &["http://example.org"], Some(false));
        check(page, &["https://example.org:8443"], Some(false));
        check(page, &["https://example.org/"], Some(false));
        check(page, &["example.org"], Some(false));
        check(
            Some("https://example.org.evil.net"),
            &["https://example.org"],
            Some(false),
        );
        check(
            Some("https://www.example.org"),
            &["https://example.org"],
            Some(false),
        );
        check(Some("null"), &["https://example.org"], Some(false));
        check(Some("null"), &["*"], Some(true));
        check(Some(""), &["https://example.org"], Some(false));
    }
}
