//! Error responses: `application/problem+json` with a stable code.
//!
//! Source: <https://www.rfc-editor.org/rfc/rfc9457>.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The content type of every error.
pub const PROBLEM_CONTENT_TYPE: &str = "application/problem+json";

/// The code for a body above the limit of the server.
pub const CODE_BODY_TOO_LARGE: &str = "BODY_TOO_LARGE";

/// An error response. It never contains content of conversations, tokens or keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpProblem {
    /// The status of the response.
    pub status: StatusCode,
    /// The stable code for programs, in `UPPER_SNAKE` case.
    pub code: Cow<'static, str>,
    /// What is wrong, and how to correct it.
    pub detail: String,
    /// The path of the wrong field, such as `messages[0].content`.
    pub field: Option<String>,
    /// The delay after which a retry makes sense.
    pub retry_after: Option<Duration>,
    /// More data for programs; keys are in `lower_snake_case`.
    pub metadata: BTreeMap<String, String>,
}

/// The body of a problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody {
    /// Always `about:blank`; use `code` instead.
    pub r#type: String,
    /// The standard phrase of the status.
    pub title: String,
    /// The status of the response.
    pub status: u16,
    /// The stable code for programs.
    pub code: String,
    /// What is wrong, and how to correct it.
    pub detail: String,
    /// The path of the wrong field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The delay before a retry, in milliseconds. The header `Retry-After` has it in seconds, rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// More data for programs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

impl HttpProblem {
    /// A problem with a status, a code and a detail.
    #[must_use]
    pub fn new(status: StatusCode, code: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        Self {
            status,
            code: code.into(),
            detail: detail.into(),
            field: None,
            retry_after: None,
            metadata: BTreeMap::new(),
        }
    }

    /// A problem of a request field: status 400.
    #[must_use]
    pub fn of_field(code: impl Into<Cow<'static, str>>, field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail).in_field(field)
    }

    /// Names the field.
    #[must_use]
    pub fn in_field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Sets the delay before a retry.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        self
    }

    /// Adds data for programs; the key is in `lower_snake_case`.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    fn body(self) -> ProblemBody {
        ProblemBody {
            r#type: "about:blank".to_owned(),
            title: self.status.canonical_reason().unwrap_or("Error").to_owned(),
            status: self.status.as_u16(),
            code: self.code.into_owned(),
            detail: self.detail,
            field: self.field,
            retry_after_ms: self.retry_after.map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)),
            metadata: self.metadata,
        }
    }
}

impl IntoResponse for HttpProblem {
    fn into_response(self) -> Response {
        let (status, retry_after) = (self.status, self.retry_after);
        let problem = self.clone();
        // A struct of texts and numbers always serializes.
        let body = serde_json::to_vec(&self.body()).unwrap_or_default();
        let headers = [(header::CONTENT_TYPE, PROBLEM_CONTENT_TYPE), (header::CACHE_CONTROL, "no-store")];
        let mut response = (status, headers, body).into_response();
        if let Some(delay) = retry_after {
            let seconds = HeaderValue::from(seconds_up(delay));
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        // For logs, traces and layers.
        response.extensions_mut().insert(problem);
        response
    }
}

/// Whole seconds, rounded up, so that no retry is too early.
fn seconds_up(delay: Duration) -> u64 {
    delay.as_secs() + u64::from(delay.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_body_has_the_set_fields_only() {
        let bare = HttpProblem::new(StatusCode::NOT_FOUND, "X_NOT_FOUND", "no such x");
        let full = HttpProblem::of_field("FIELD_MISSING", "a.b", "is missing")
            .retry_after(Duration::from_millis(1_001))
            .with("limit", "3");
        let cases = [
            (
                bare,
                r#"{"type":"about:blank","title":"Not Found","status":404,"code":"X_NOT_FOUND","detail":"no such x"}"#,
                None,
            ),
            (
                full,
                r#"{"type":"about:blank","title":"Bad Request","status":400,"code":"FIELD_MISSING","detail":"is missing","field":"a.b","retry_after_ms":1001,"metadata":{"limit":"3"}}"#,
                Some("2"),
            ),
        ];
        for (problem, body, retry_after) in cases {
            let response = problem.clone().into_response();
            assert_eq!(response.headers()["content-type"], PROBLEM_CONTENT_TYPE);
            let header = response.headers().get("retry-after");
            assert_eq!(header.map(|value| value.to_str().unwrap()), retry_after);
            assert_eq!(response.extensions().get(), Some(&problem));
            let read = axum::body::to_bytes(response.into_body(), 1024).await;
            assert_eq!(read.unwrap(), body.as_bytes());
        }
    }

    #[test]
    fn seconds_are_rounded_up() {
        for (ms, expected) in [(0, 0), (1, 1), (999, 1), (1_000, 1), (1_001, 2)] {
            assert_eq!(seconds_up(Duration::from_millis(ms)), expected, "{ms}");
        }
    }
}
