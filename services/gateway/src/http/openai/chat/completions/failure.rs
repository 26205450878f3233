//! Problems of answers that failed.

use axum::http::StatusCode;
use domain::{RunEnd, RunOutcome};
use runtime::http::HttpProblem;

use conversations::problem::RETRY_AFTER;

/// Errors of a model server that may end soon.
const TEMPORARY: [&str; 3] = ["model_unavailable", "model_overloaded", "model_breaker_open"];

/// The problem of an end; `None`: the answer is complete. The message of an end never contains the model server's text.
pub(in crate::http::openai) fn problem_of(end: &RunEnd) -> Option<HttpProblem> {
    if end.outcome == RunOutcome::Completed {
        return None;
    }
    let Some(error) = &end.error else {
        return Some(ended_early());
    };
    let error_type = error.error_type.as_str();
    let detail = format!("the model failed to answer ({error_type}): {}", error.message);
    let problem = |status| HttpProblem::new(status, "RUN_FAILED", detail);
    Some(if TEMPORARY.contains(&error_type) {
        problem(StatusCode::SERVICE_UNAVAILABLE).retry_after(RETRY_AFTER)
    } else {
        problem(StatusCode::BAD_GATEWAY)
    })
}

/// The gateway shuts down before the end of the answer.
pub(in crate::http::openai) fn ended_early() -> HttpProblem {
    let detail = "the answer ended early: try again";
    HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, "RUN_NOT_HEARD", detail).retry_after(RETRY_AFTER)
}

/// The problem of a field with a value that is not supported.
pub(in crate::http::openai) fn not_supported(field: &str) -> HttpProblem {
    let detail = format!("{field} has a value that is not supported: leave it out");
    HttpProblem::of_field("FIELD_UNSUPPORTED", field, detail)
}
