//! Ends of runs: without an error, or with an error that callers read. A run is closed by publishing its end as its last
//! part: the first publisher wins, and no part follows.

use domain::bounds::RUN_ERROR_BYTES_MAX;
use domain::event::ErrorOccurred;
use domain::{Label, RunEnd, RunOutcome, RunPart, RunPartKind, Sequence};
use models::ModelError;
use wire::status::{Problem, Reason};

use super::publisher::request;
use super::{Generations, RunKey, parts_log};
use record_access::writer::WriterError;

/// Maximum number of attempts. An attempt fails if another process publishes parts at the same time.
const ATTEMPTS_MAX: u32 = 32;

/// An end without an error.
pub(super) fn end_with(outcome: RunOutcome) -> RunEnd {
    RunEnd { outcome, error: None }
}

/// A failed end; `error_type` is a short stable name.
pub(super) fn fail_with(error_type: &str, message: &str) -> RunEnd {
    let end = message.floor_char_boundary(RUN_ERROR_BYTES_MAX);
    let message = message.get(..end).unwrap_or_default().to_owned();
    let error_type = Label::parse(error_type);
    RunEnd {
        outcome: RunOutcome::Failed,
        error: error_type.ok().map(|error_type| ErrorOccurred { error_type, message }),
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

/// The result of closing a run.
#[derive(Debug)]
pub(super) enum CloseResult {
    /// Its end is among its parts, published by this call or another.
    Closed,
    /// It is finished, or its conversation is erased.
    Over,
}

/// Closes a run with `end`, unless it has an end.
///
/// # Errors
/// The record or the writer does not answer, or other processes keep publishing. The call can be repeated.
pub(super) async fn close(generations: &Generations, run: &RunKey, end: RunEnd) -> Result<CloseResult, Problem> {
    for _ in 0..ATTEMPTS_MAX {
        let last = parts_log::last(&generations.gateway, &run.key, run.run).await?;
        if last.as_ref().is_some_and(parts_log::Batch::ends) {
            return Ok(CloseResult::Closed);
        }
        let (previous, number) = last.map_or((Sequence(0), 1), |last| (last.sequence, last.last_number() + 1));
        let kind = RunPartKind::RunEnded(end.clone());
        let part = wire::run::part_to_proto(&RunPart { number, kind });
        let request = request(run, previous, vec![part]);
        let answer = generations.writer.runs().append_parts(request).await;
        match answer.map_err(WriterError::from) {
            Ok(_) => return Ok(CloseResult::Closed),
            Err(WriterError::NotActive) => return Ok(CloseResult::Over),
            // Another process publishes: read the last part again.
            Err(WriterError::Superseded | WriterError::Stopping | WriterError::RunActive(_)) => {}
            Err(WriterError::Retryable(problem) | WriterError::Permanent(problem)) => {
                let code = problem.reason().code();
                let message = format!("the writer rejected the end of the run: {code:?}");
                return Err(Problem::new(Reason::RecordUnavailable, message));
            }
        }
    }
    let message = "other processes keep publishing parts of the run: try again";
    Err(Problem::new(Reason::Contention, message))
}
