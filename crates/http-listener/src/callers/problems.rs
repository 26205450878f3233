//! Problems of callers who cannot be identified.

use axum::http::StatusCode;
use identity::{SessionError, TokenError};
use runtime::http::HttpProblem;

use conversations::identity::Refusal;

/// The problem of a refusal. It never contains a token's content.
#[must_use]
pub fn from_refusal(refusal: &Refusal) -> HttpProblem {
    match refusal {
        Refusal::SessionMissing => unauthorized("SESSION_REQUIRED", get_session(refusal, "one")),
        Refusal::Session(SessionError::Expired) => unauthorized("SESSION_EXPIRED", get_session(refusal, "a new one")),
        Refusal::Session(SessionError::NotIssued | SessionError::Revoked) => {
            unauthorized("SESSION_INVALID", get_session(refusal, "one"))
        }
        Refusal::SessionKeyMissing => {
            let detail = "sessions cannot be verified yet: try again";
            unavailable("SESSION_KEY_UNAVAILABLE", detail)
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
            let detail = format!("the user's token is rejected: {error}");
            unauthorized("USER_TOKEN_INVALID", detail)
        }
        Refusal::KeysUnavailable => keys_unavailable(),
    }
}

/// The keys that verify tokens cannot be fetched.
#[must_use]
pub fn keys_unavailable() -> HttpProblem {
    let detail = "the keys that verify the token cannot be fetched: try again";
    unavailable("TOKEN_KEYS_UNAVAILABLE", detail)
}

fn get_session(refusal: &Refusal, which: &str) -> String {
    format!("{refusal}: get {which} with POST /api/sessions, and send it as the header x-session-id")
}

fn unavailable(code: &'static str, detail: &str) -> HttpProblem {
    HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, code, detail).retry_after(conversations::problem::RETRY_AFTER)
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
            (Refusal::SessionMissing, 401, "SESSION_REQUIRED"),
            (Refusal::Session(SessionError::Expired), 401, "SESSION_EXPIRED"),
            (Refusal::Session(SessionError::NotIssued), 401, "SESSION_INVALID"),
            (Refusal::Session(SessionError::Revoked), 401, "SESSION_INVALID"),
            (Refusal::SessionKeyMissing, 503, "SESSION_KEY_UNAVAILABLE"),
            (Refusal::TokenRequired, 401, "USER_TOKEN_REQUIRED"),
            (Refusal::UserMismatch, 403, "USER_MISMATCH"),
            (Refusal::Token(TokenError::Expired), 401, "USER_TOKEN_EXPIRED"),
            (Refusal::Token(TokenError::WrongAgent), 401, "USER_TOKEN_INVALID"),
            (Refusal::KeysUnavailable, 503, "TOKEN_KEYS_UNAVAILABLE"),
        ] {
            let problem = from_refusal(&refusal);
            assert_eq!((problem.status.as_u16(), &*problem.code), (status, code));
        }
    }
}
