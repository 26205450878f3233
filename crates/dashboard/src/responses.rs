//! What every response below `/dashboard` has: security headers, and problems as pages.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use pages::csp::CONTENT_SECURITY_POLICY;
use pages::dashboard::problem::{ProblemPage, problem};
use runtime::http::{PROBLEM_CONTENT_TYPE, ProblemBody};

use super::BASE_PATH;

/// Maximum size of a problem, in bytes.
const PROBLEM_BYTES_MAX: usize = 64 * 1024;

/// The headers of every response. Others of the server forbid sniffing, referrers and copies.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Adds the headers, and converts problems of every layer and of unknown paths.
pub async fn layer(request: Request, next: Next) -> Response {
    let is_page = is_dashboard(request.uri().path());
    let response = next.run(request).await;
    if !is_page {
        return response;
    }
    let is_problem = response.headers().get(header::CONTENT_TYPE).is_some_and(|value| value == PROBLEM_CONTENT_TYPE);
    let mut response = if is_problem { converted(response).await } else { response };
    for (name, value) in HEADERS {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

/// Whether a path is of the dashboard.
fn is_dashboard(path: &str) -> bool {
    let rest = path.strip_prefix(BASE_PATH);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

async fn converted(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    // A problem is in memory and far below the maximum.
    let body = to_bytes(body, PROBLEM_BYTES_MAX).await.unwrap_or_default();
    let Ok(body) = serde_json::from_slice::<ProblemBody>(&body) else {
        return Response::from_parts(parts, Body::from(body));
    };
    let page = problem(ProblemPage {
        status: body.status,
        code: &body.code,
        detail: &body.detail,
        retry_after_s: body.retry_after_ms.map(|wait_ms| wait_ms.div_ceil(1_000)),
    });
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    parts.headers.insert(header::CONTENT_TYPE, html);
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(page.into_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_by_their_path() {
        for (path, expected) in [
            ("/dashboard", true),
            ("/dashboard/usage", true),
            ("/dashboards", false),
            ("/api/dashboard", false),
            ("/", false),
        ] {
            assert_eq!(is_dashboard(path), expected, "{path}");
        }
    }
}
