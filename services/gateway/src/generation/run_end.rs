//! Ends of runs: without an error, or with an error that callers read.

use domain::bounds::RUN_ERROR_BYTES_MAX;
use domain::event::ErrorOccurred;
use domain::{Label, RunEnd, RunOutcome};
use models::ModelError;
use wire::status::Problem;

/// An end without an error.
pub(super) fn end_with(outcome: RunOutcome) -> RunEnd {
    RunEnd {
        outcome,
        error: None,
    }
}

/// A failed end; `error_type` is a short stable name.
pub(super) fn fail_with(error_type: &str, message: &str) -> RunEnd {
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

/// Logs the type of a run's error. The message is not logged: it may contain content.
pub(super) fn log_failure(end: &RunEnd) {
    if let Some(error) = &end.error {
        tracing::warn!(error.r#type = error.error_type.as_str(), "a run failed");
    }
}

/// The end of a run that failed with a problem.
pub(super) fn from_problem(problem: &Problem) -> RunEnd {
    let error_type = problem.reason().as_str().to_ascii_lowercase();
    fail_with(&error_type, problem.message())
}

/// The end of a run whose model failed. Callers read the message, so it never contains the server's text, which may hold
/// keys, addresses and content. The provider log has that text.
pub(super) fn from_model_error(error: &ModelError) -> RunEnd {
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
    fail_with(error.code(), &message)
}
