//! The header `idempotency-key`: identifies a command in all of its retries.

use axum::extract::FromRequestParts;
use axum::http::HeaderName;
use axum::http::request::Parts;
use domain::CommitId;
use runtime::http::HttpProblem;

/// The name of the header.
pub const IDEMPOTENCY_KEY_HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// The caller's idempotency key, a UUID, if the request has one. A retry with the same key and the same request gets
/// the first answer; the same key with another request is rejected with 409.
#[derive(Debug, Clone, Copy, Default)]
pub struct IdempotencyKey(pub Option<CommitId>);

impl IdempotencyKey {
    /// The key of one of several commands of a request; the same in every retry.
    #[must_use]
    pub fn for_part(self, part: &str) -> Self {
        Self(self.0.map(|key| key.part(part.as_bytes())))
    }
}

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let Some(value) = parts.headers.get(IDEMPOTENCY_KEY_HEADER) else {
            return Ok(Self(None));
        };
        let text = value.to_str().ok();
        let key = text.and_then(|text| CommitId::parse(text).ok());
        key.map(|key| Self(Some(key))).ok_or_else(|| {
            let detail =
                "the header idempotency-key is not a UUID: send a new one with each request, preferably a UUIDv7";
            HttpProblem::of_field("IDEMPOTENCY_KEY_MALFORMED", "idempotency-key", detail)
        })
    }
}
