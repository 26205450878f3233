//! The header `idempotency-key`: it names a command for all of its retries.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, StatusCode};
use domain::CommitId;
use runtime::http::HttpProblem;
use uuid::Uuid;

/// The header's name.
pub const IDEMPOTENCY_KEY_HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// The caller's key of a command, a UUID, where one is given. A retry under the same key with the same request gets the
/// first answer; the same key with another request is refused with 409.
#[derive(Debug, Clone, Copy, Default)]
pub struct IdempotencyKey(pub Option<CommitId>);

impl IdempotencyKey {
    /// The key as the writer takes it; empty: none.
    #[must_use]
    pub fn text(self) -> String {
        self.0.map(|key| key.to_string()).unwrap_or_default()
    }

    /// The key of one of several commands that a request comes to: the same at every retry.
    #[must_use]
    pub fn of_part(self, part: &str) -> Self {
        Self(
            self.0
                .map(|key| CommitId(Uuid::new_v5(&key.0, part.as_bytes()))),
        )
    }
}

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let Some(value) = parts.headers.get(IDEMPOTENCY_KEY_HEADER) else {
            return Ok(Self(None));
        };
        let key = value
            .to_str()
            .ok()
            .and_then(|text| CommitId::parse(text).ok());
        match key {
            Some(key) => Ok(Self(Some(key))),
            None => Err(malformed()),
        }
    }
}

fn malformed() -> HttpProblem {
    let detail =
        "the header idempotency-key is not a UUID: give a new one for each request, best a UUIDv7";
    let status = StatusCode::BAD_REQUEST;
    HttpProblem {
        field: Some(IDEMPOTENCY_KEY_HEADER.as_str().to_owned()),
        ..HttpProblem::new(status, "IDEMPOTENCY_KEY_MALFORMED", detail)
    }
}
