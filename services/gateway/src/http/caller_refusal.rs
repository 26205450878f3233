//! Why a caller is nobody, as HTTP callers see it.

use axum::http::StatusCode;
use identity::TokenError;
use runtime::http::HttpProblem;

use crate::identity::Refusal;

/// The problem of a refusal. What stands in a token is never told.
#[must_use]
pub fn of(refusal: &Refusal) -> HttpProblem {
    match refusal {
        Refusal::SessionMissing => {
            let detail = "sessionId is required: send it as the header x-session-id, in the query, or in the body";
            HttpProblem {
                field: Some("sessionId".to_owned()),
                ..HttpProblem::new(StatusCode::BAD_REQUEST, "FIELD_MISSING", detail)
            }
        }
        Refusal::TokenRequired => {
            let detail = format!("{refusal}: send it as the header x-user-token");
            unauthorized("USER_TOKEN_REQUIRED", detail)
        }
        Refusal::UserMismatch => {
            let detail = format!("{refusal}: leave out userId, or send that user's token");
            HttpProblem::new(StatusCode::FORBIDDEN, "USER_MISMATCH", detail)
        }
        Refusal::Token(TokenError::Expired) => {
            let detail = "the user's token has expired: get a new one";
            unauthorized("USER_TOKEN_EXPIRED", detail.to_owned())
        }
        Refusal::Token(error) => {
            let detail = format!("the user's token is refused: {error}");
            unauthorized("USER_TOKEN_INVALID", detail)
        }
        Refusal::KeysUnavailable => keys_unavailable(),
    }
}

/// The keys by which a token is checked cannot be fetched now.
#[must_use]
pub fn keys_unavailable() -> HttpProblem {
    let detail = "the keys by which the token is checked cannot be fetched: try again";
    let status = StatusCode::SERVICE_UNAVAILABLE;
    HttpProblem::new(status, "TOKEN_KEYS_UNAVAILABLE", detail)
        .retry_after(crate::problem::RETRY_AFTER)
}

fn unauthorized(code: &'static str, detail: String) -> HttpProblem {
    HttpProblem::new(StatusCode::UNAUTHORIZED, code, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_its_status_and_code() {
        for (refusal, status, code) in [
            (Refusal::SessionMissing, 400, "FIELD_MISSING"),
            (Refusal::TokenRequired, 401, "USER_TOKEN_REQUIRED"),
            (Refusal::UserMismatch, 403, "USER_MISMATCH"),
            (
                Refusal::Token(TokenError::Expired),
                401,
                "USER_TOKEN_EXPIRED",
            ),
            (
                Refusal::Token(TokenError::WrongAgent),
                401,
                "USER_TOKEN_INVALID",
            ),
            (Refusal::KeysUnavailable, 503, "TOKEN_KEYS_UNAVAILABLE"),
        ] {
            let problem = of(&refusal);
            assert_eq!((problem.status.as_u16(), &*problem.code), (status, code));
        }
    }
}
