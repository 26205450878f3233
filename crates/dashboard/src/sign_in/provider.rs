//! Signing in with OpenID Connect.
//!
//! [`start_sign_in`] keeps an attempt in a cookie and goes to the provider; [`finish_sign_in`] compares the state, and signs in with
//! the claims of the ID token. Tokens of the provider are not sent to the browser.

mod attempt_cookie;
pub mod finish_sign_in;
pub mod start_sign_in;

use axum::http::StatusCode;
use runtime::http::HttpProblem;

use http_listener::openid::ProviderError;

fn from_provider(error: ProviderError) -> HttpProblem {
    match error {
        ProviderError::Unavailable => {
            let detail = "the provider of the sign-in does not answer: try again, or ask an operator for a link";
            let status = StatusCode::SERVICE_UNAVAILABLE;
            HttpProblem::new(status, "PROVIDER_UNAVAILABLE", detail)
        }
        ProviderError::Rejected => sign_in_rejected(),
    }
}

/// The attempt is unknown, or the provider's answer is invalid.
fn sign_in_rejected() -> HttpProblem {
    let detail = "the sign-in was not completed: start again. Only one sign-in at a time is possible in a browser";
    HttpProblem::new(StatusCode::UNAUTHORIZED, "SIGN_IN_REJECTED", detail)
}
