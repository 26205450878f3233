//! How a run ends: without an error, or by a failure that callers may read.

use domain::bounds::RUN_ERROR_BYTES_MAX;
use domain::event::ErrorOccurred;
use domain::{Label, RunEnd, RunOutcome};
use models::ModelError;
use wire::status::Problem;

/// An end without an error.
pub(super) fn ended(outcome: RunOutcome) -> RunEnd {
    RunEnd {
        outcome,
        error: None,
    }
}

/// An end by a failure; `error_type` is a short stable name.
pub(super) fn failed(error_type: &str, message: &str) -> RunEnd {
    let end = message.floor_char_boundary(RUN_ERROR_BYTES_MAX);
    let message = message.get(..end).unwrap_or_default().to_owned();
    let error_type = Label::parse(error_type);
    RunEnd {
        outcome: RunOutcome::Failed,
        error: error_type.ok().map(|error_type| ErrorOccurred {
            error_type,
            message,
        }),
    }
}

/// Logs why a run failed: the failure's name, and not what a server said of it, which may hold contents.
pub(super) fn tell_failure(end: &RunEnd) {
    if let Some(error) = &end.error {
        tracing::warn!(error.r#type = error.error_type.as_str(), "a run failed");
    }
}

/// What a run cannot go on for, as its end.
pub(super) fn of_problem(problem: &Problem) -> RunEnd {
    let error_type = problem.reason().as_str().to_ascii_lowercase();
    failed(&error_type, problem.message())
}

/// What a model fails with, as the end of a run: in our own words alone, since callers read it. What the server says may hold
/// keys, addresses and contents; the log of its calls has it.
pub(super) fn of_model(error: &ModelError) -> RunEnd {
    let message = match error {
        ModelError::Refused { status, .. } => {
            format!("the model server refused the request with status {status}")
        }
        ModelError::Failed { .. } => "the model failed while it answered".to_owned(),
        ModelError::UnknownServer
        | ModelError::Unusable { .. }
        | ModelError::Unavailable { .. }
        | ModelError::BreakerOpen { .. }
        | ModelError::Overloaded { .. }
        | ModelError::TimedOut { .. }
        | ModelError::Broken
        | ModelError::TooLarge { .. } => error.to_string(),
    };
    failed(error.code(), &message)
}
