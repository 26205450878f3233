//! Errors in OpenAI's format: `{"error": {"message", "type", "param", "code"}}`. `code` is the stable code of the problem.
//!
//! OpenAI's clients repeat a request after 409, 429 and every 5xx status, without a key that identifies it. The header
//! `x-should-retry: false` stops them where the same request would fail again.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use runtime::http::{HttpProblem, PROBLEM_CONTENT_TYPE, ProblemBody};
use serde::Serialize;
use utoipa::ToSchema;
use wire::status::Reason;

use super::BASE_PATH;

/// Maximum size of a problem, in bytes.
const PROBLEM_BYTES_MAX: usize = 64 * 1024;
/// Clients wait at most this long before they repeat a request.
const RETRY_WAIT_MAX: Duration = Duration::from_mins(1);
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
/// Reasons of 5xx statuses that a retry cannot change.
const FINAL_REASONS: [Reason; 2] = [Reason::ModelNotConfigured, Reason::DataCorrupt];

/// An error in OpenAI's format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct OpenAiError {
    /// The error.
    pub error: OpenAiErrorDetail,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct OpenAiErrorDetail {
    /// What is wrong, and how to correct it.
    pub message: String,
    /// The kind: `invalid_request_error`, `authentication_error`, `permission_error`, `rate_limit_error` or `server_error`.
    #[schema(example = "invalid_request_error")]
    pub r#type: &'static str,
    /// The wrong field.
    pub param: Option<String>,
    /// The stable code for programs.
    #[schema(example = "FIELD_MISSING")]
    pub code: String,
}

impl From<&HttpProblem> for OpenAiError {
    fn from(problem: &HttpProblem) -> Self {
        Self::new(problem.status, problem.code.clone().into_owned(), &problem.detail, problem.field.clone())
    }
}

impl OpenAiError {
    fn new(status: StatusCode, code: String, detail: &str, param: Option<String>) -> Self {
        let message = match &param {
            Some(param) if !detail.contains(param.as_str()) => format!("{param}: {detail}"),
            _ => detail.to_owned(),
        };
        let error = OpenAiErrorDetail { message, r#type: type_of(status), param, code };
        Self { error }
    }
}

/// Converts every problem of these APIs, also those of other layers and of unknown routes.
pub(in crate::http) async fn layer(request: Request, next: Next) -> Response {
    let is_openai = is_openai(request.uri().path());
    let response = next.run(request).await;
    let is_problem = response.headers().get(header::CONTENT_TYPE).is_some_and(|value| value == PROBLEM_CONTENT_TYPE);
    if is_openai && is_problem {
        return converted(response).await;
    }
    response
}

/// Whether a path belongs to these APIs.
pub(in crate::http) fn is_openai(path: &str) -> bool {
    let rest = path.strip_prefix(BASE_PATH);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

async fn converted(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    // A problem is in memory and far below the maximum.
    let body = to_bytes(body, PROBLEM_BYTES_MAX).await.unwrap_or_default();
    let Ok(problem) = serde_json::from_slice::<ProblemBody>(&body) else {
        return Response::from_parts(parts, Body::from(body));
    };
    if is_final(parts.status, &problem) {
        let no = HeaderValue::from_static("false");
        parts.headers.insert(SHOULD_RETRY, no);
    }
    let error = OpenAiError::new(parts.status, problem.code, &problem.detail, problem.field);
    // A struct of texts always serializes.
    let body = serde_json::to_vec(&error).unwrap_or_default();
    let json = HeaderValue::from_static("application/json");
    parts.headers.insert(header::CONTENT_TYPE, json);
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(body))
}

/// Whether clients would repeat the request, and would fail again.
fn is_final(status: StatusCode, problem: &ProblemBody) -> bool {
    let wait = problem.retry_after_ms.map(Duration::from_millis);
    match status {
        // 502 is a failed model: the gateway has already repeated what can be repeated.
        StatusCode::CONFLICT | StatusCode::NOT_IMPLEMENTED | StatusCode::BAD_GATEWAY => true,
        StatusCode::TOO_MANY_REQUESTS => wait.is_none_or(|wait| wait > RETRY_WAIT_MAX),
        status if status.is_server_error() => FINAL_REASONS.iter().any(|reason| reason.as_str() == problem.code),
        _ => false,
    }
}

fn type_of(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_server_error() => "server_error",
        _ => "invalid_request_error",
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;
    use serde_json::{Value, json};

    use super::*;

    async fn check(problem: HttpProblem, expected: Value, retries: Option<&str>) {
        let response = converted(problem.into_response()).await;
        let headers = response.headers();
        assert_eq!(headers[header::CONTENT_TYPE], "application/json");
        let header = headers.get(SHOULD_RETRY);
        assert_eq!(header.map(|value| value.to_str().unwrap()), retries);
        let body = to_bytes(response.into_body(), PROBLEM_BYTES_MAX).await;
        let body: Value = serde_json::from_slice(&body.unwrap()).unwrap();
        assert_eq!(body, json!({ "error": expected }));
    }

    #[tokio::test]
    async fn a_problem_becomes_an_error() {
        let problem = HttpProblem::of_field("FIELD_MISSING", "model", "is missing: add it");
        let error = json!({"message": "model: is missing: add it", "type": "invalid_request_error", "param": "model", "code": "FIELD_MISSING"});
        check(problem, error, None).await;
        let problem = HttpProblem::new(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", "no key");
        let error =
            json!({"message": "no key", "type": "authentication_error", "param": null, "code": "UNAUTHENTICATED"});
        check(problem, error, None).await;
    }

    #[test]
    fn clients_are_stopped_where_a_retry_cannot_help() {
        let s = Duration::from_secs;
        for (status, code, wait, expected) in [
            (400, "FIELD_MISSING", None, false),
            (409, "VERSION_CONFLICT", None, true),
            (429, "RATE_LIMITED", Some(s(60)), false),
            (429, "QUOTA_EXCEEDED", Some(s(61)), true),
            (429, "QUOTA_EXCEEDED", None, true),
            (500, "INTERNAL", None, false),
            (500, "DATA_CORRUPT", None, true),
            (501, "UNIMPLEMENTED", None, true),
            (502, "RUN_FAILED", None, true),
            (503, "RECORD_UNAVAILABLE", None, false),
            (503, "MODEL_NOT_CONFIGURED", None, true),
        ] {
            let problem = ProblemBody {
                r#type: String::new(),
                title: String::new(),
                status,
                code: code.to_owned(),
                detail: String::new(),
                field: None,
                retry_after_ms: wait.map(|wait| u64::try_from(wait.as_millis()).unwrap()),
                metadata: std::collections::BTreeMap::new(),
            };
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(is_final(status, &problem), expected, "{status} {code} {wait:?}");
        }
    }

    #[test]
    fn only_paths_below_the_base_url_are_converted() {
        for (path, expected) in
            [("/openai/v1", true), ("/openai/v1/models", true), ("/openai/v10", false), ("/v1/conversations", false)]
        {
            assert_eq!(is_openai(path), expected, "{path}");
        }
    }
}
