//! Errors of the writer, classified for runs.

use domain::RunId;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use wire::status::Reason;

/// Whether the writer rejects a command for this reason.
#[must_use]
pub fn has_reason(status: &Status, reason: Reason) -> bool {
    let info = status.get_details_error_info();
    info.is_some_and(|info| info.reason == reason.as_str())
}

/// A status for callers, without the headers of the writer's answer.
#[must_use]
pub fn without_headers(status: &Status) -> Status {
    let details = status.details().to_vec().into();
    Status::with_details(status.code(), status.message(), details)
}

/// Why the writer rejected a command or did not answer.
#[derive(Debug)]
pub enum WriterError {
    /// Another run is active.
    RunActive(RunId),
    /// The run is over or never existed.
    NotActive,
    /// A stop of the run is requested: only its end is accepted.
    Stopping,
    /// Another process published parts of the run.
    Superseded,
    /// The same request may succeed later.
    Retryable(Status),
    /// The same request cannot succeed.
    Permanent(Status),
}

impl WriterError {
    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Retryable(_))
    }
}

impl From<Status> for WriterError {
    fn from(status: Status) -> Self {
        let info = status.get_details_error_info();
        let Some(info) = info else {
            // The status comes from the connection or from a proxy, not from the writer.
            return Self::Retryable(status);
        };
        let is = |expected: Reason| expected.as_str() == info.reason;
        let run = info.metadata.get("run_id").map(|run| RunId::parse(run));
        if let (true, Some(Ok(run))) = (is(Reason::RunActive), run) {
            return Self::RunActive(run);
        }
        let is_over = is(Reason::RunNotActive) || is(Reason::ConversationNotFound) || is(Reason::ConversationErased);
        // A version is never reached again, and the caller learns when the quota allows a retry.
        let is_permanent = is(Reason::VersionConflict) || is(Reason::QuotaExceeded);
        let is_retryable = matches!(
            status.code(),
            Code::Unavailable
                | Code::ResourceExhausted
                | Code::Aborted
                | Code::Cancelled
                | Code::DeadlineExceeded
                | Code::Unknown
        );
        if is_over {
            Self::NotActive
        } else if is(Reason::RunStopping) {
            Self::Stopping
        } else if is(Reason::PartsSuperseded) {
            Self::Superseded
        } else if is_retryable && !is_permanent {
            Self::Retryable(status)
        } else {
            Self::Permanent(status)
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;
    use wire::status::Problem;

    use super::*;

    fn check(status: Status, expected: &str) {
        let message = status.to_string();
        let seen = match WriterError::from(status) {
            WriterError::RunActive(run) => format!("active {run}"),
            WriterError::NotActive => "not active".to_owned(),
            WriterError::Stopping => "stopping".to_owned(),
            WriterError::Superseded => "superseded".to_owned(),
            WriterError::Retryable(_) => "retryable".to_owned(),
            WriterError::Permanent(_) => "permanent".to_owned(),
        };
        assert_eq!(seen, expected, "{message}");
    }

    #[test]
    fn errors_of_the_writer_are_classified() {
        let run = Uuid::nil().to_string();
        let active = Problem::new(Reason::RunActive, "x").with("run_id", run.clone());
        check(active.into(), &format!("active {run}"));
        for (reason, expected) in [
            (Reason::RunActive, "permanent"),
            (Reason::RunNotActive, "not active"),
            (Reason::ConversationNotFound, "not active"),
            (Reason::ConversationErased, "not active"),
            (Reason::RunStopping, "stopping"),
            (Reason::PartsSuperseded, "superseded"),
            (Reason::RecordUnavailable, "retryable"),
            (Reason::Draining, "retryable"),
            (Reason::Overloaded, "retryable"),
            (Reason::QuotaExceeded, "permanent"),
            (Reason::Contention, "retryable"),
            (Reason::VersionConflict, "permanent"),
            (Reason::ConversationArchived, "permanent"),
            (Reason::Unauthenticated, "permanent"),
            (Reason::TooManyOpenCalls, "permanent"),
        ] {
            check(Problem::new(reason, "x").into(), expected);
        }
        check(Status::unknown("transport error"), "retryable");
        check(Status::internal("h2 protocol error"), "retryable");
    }
}
