//! CORS: the caller's API key lists the origins of the pages that may send requests.
//!
//! A preflight has no key. It is answered for any origin and allows nothing by itself; the request after it is rejected if
//! its key does not allow the origin. Cookies are for pages whose origin the key lists by name, see `cookies`.
//! Source: <https://fetch.spec.whatwg.org/>.
//!
//! What `tower_http::cors::CorsLayer` lacks, and the tests in `tests/listener/origins.rs` that show it: it decides before the
//! handler, which is where the key or the administrator's token is verified
//! (`only_pages_that_the_key_allows_may_ask_and_read`). It answers preflights with 200
//! (`preflights_are_answered_for_any_origin`), and every `OPTIONS` request as a preflight
//! (`other_requests_are_no_preflights`).

use std::sync::{Arc, OnceLock};

use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use runtime::http::HttpProblem;

/// Matches every origin, in the list of a key.
pub const ANY_ORIGIN: &str = "*";

/// How long a browser may cache the answer to a preflight, in seconds.
const PREFLIGHT_MAX_AGE_S: &str = "600";

const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE";

/// The request headers that every page may send, if a preflight names none.
const REQUEST_HEADERS: &str = "authorization, content-type, idempotency-key, last-event-id, x-api-key, x-position-token, \
                               x-session-id, x-user-id, x-user-token";

/// The response headers that pages may read.
const EXPOSED_HEADERS: &str = "location, content-disposition, x-request-id, x-run-id, x-session-id, retry-after, ratelimit-limit, \
                               ratelimit-remaining, ratelimit-reset, x-position-token, x-vercel-ai-ui-message-stream";

const TRUE: HeaderValue = HeaderValue::from_static("true");

const PREFLIGHT_VARY: &str = "origin, access-control-request-method, access-control-request-headers";

/// The decision about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The request has no origin: it is not from a page.
    NoPage,
    /// The page may send requests and read the answers.
    Allowed(HeaderValue),
    /// The page may not send requests.
    Rejected,
}

/// Whether a list names an origin; [`ANY_ORIGIN`] does not count.
#[must_use]
pub fn is_listed(origin: &[u8], allowed: &[String]) -> bool {
    let is_equal = |known: &String| known != ANY_ORIGIN && known.as_bytes().eq_ignore_ascii_case(origin);
    allowed.iter().any(is_equal)
}

/// Checks the `Origin` of a request against the origins that its key allows: exact ones such as `https://example.org`, or
/// [`ANY_ORIGIN`]. An empty list allows no page.
#[must_use]
pub fn decide(origin: Option<&HeaderValue>, allowed: &[String]) -> Decision {
    let Some(origin) = origin else {
        return Decision::NoPage;
    };
    let is_any = allowed.iter().any(|known| known == ANY_ORIGIN);
    if is_any || is_listed(origin.as_bytes(), allowed) { Decision::Allowed(origin.clone()) } else { Decision::Rejected }
}

/// Checks a request once its key is known. The response gets the matching headers.
///
/// # Errors
/// 403 `ORIGIN_NOT_ALLOWED`.
pub fn admit(parts: &Parts, allowed: &[String]) -> Result<(), HttpProblem> {
    match decide(parts.headers.get(header::ORIGIN), allowed) {
        Decision::NoPage => Ok(()),
        Decision::Allowed(origin) => {
            if let Some(Admission(admission)) = parts.extensions.get() {
                let credentials = is_listed(origin.as_bytes(), allowed);
                // A second check of the same request has the same result.
                let _ = admission.set(Admitted { origin, credentials });
            }
            Ok(())
        }
        Decision::Rejected => {
            let detail =
                "the page's origin is not allowed: add it to the API key, for administrators to any key of the tenant";
            let status = StatusCode::FORBIDDEN;
            Err(HttpProblem::new(status, "ORIGIN_NOT_ALLOWED", detail))
        }
    }
}

/// The admitted origin, once it is known.
#[derive(Debug, Clone, Default)]
struct Admission(Arc<OnceLock<Admitted>>);

#[derive(Debug)]
struct Admitted {
    origin: HeaderValue,
    /// Whether the page may send cookies and read the answer.
    credentials: bool,
}

/// Answers preflights, and adds the headers of admitted origins to responses.
pub async fn layer(mut request: Request, next: Next) -> Response {
    let Some(origin) = request.headers().get(header::ORIGIN).cloned() else {
        return next.run(request).await;
    };
    if is_preflight(&request) {
        return preflight(origin, request.headers());
    }
    let admission = Admission::default();
    request.extensions_mut().insert(admission.clone());
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(admitted) = admission.0.get() {
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
    request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight(origin: HeaderValue, request: &HeaderMap) -> Response {
    let headers = request
        .get(header::ACCESS_CONTROL_REQUEST_HEADERS)
        .cloned()
        .unwrap_or(HeaderValue::from_static(REQUEST_HEADERS));
    let answer: [(HeaderName, HeaderValue); 6] = [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, origin),
        (header::ACCESS_CONTROL_ALLOW_CREDENTIALS, TRUE),
        (header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS)),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, headers),
        (header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(PREFLIGHT_MAX_AGE_S)),
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
            Some(false) => Decision::Rejected,
        };
        assert_eq!(decide(value.as_ref(), &list), decision, "{origin:?} {allowed:?}");
    }

    #[test]
    fn an_origin_is_allowed_only_by_name_or_by_all() {
        let (page, key) = ("https://example.org", &["https://example.org"][..]);
        check(None, &[], None);
        check(None, key, None);
        check(Some(page), &["https://other.org", page], Some(true));
        check(Some(page), &["https://EXAMPLE.org"], Some(true));
        for (origin, allowed, expected) in [
            (page, &[][..], false),
            (page, key, true),
            (page, &["*"], true),
            (page, &["http://example.org"], false),
            (page, &["https://example.org:8443"], false),
            (page, &["https://example.org/"], false),
            (page, &["example.org"], false),
            ("https://example.org.evil.net", key, false),
            ("https://www.example.org", key, false),
            ("null", key, false),
            ("null", &["*"], true),
            ("", key, false),
        ] {
            check(Some(origin), allowed, Some(expected));
        }
    }
}
