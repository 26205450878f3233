//! Errors of the writer, classified for runs.

use domain::RunId;
use tonic::{Code, Status};
use wire::status::{Problem, Reason};

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
    Retryable(Problem),
    /// The same request cannot succeed.
    Permanent(Problem),
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
        Problem::from(status).into()
    }
}

impl From<Problem> for WriterError {
    fn from(problem: Problem) -> Self {
        let reason = problem.reason();
        let is = |reasons: &[Reason]| reasons.contains(&reason);
        let run = problem.metadata().get("run_id").and_then(|run| RunId::parse(run).ok());
        if let (Reason::RunActive, Some(run)) = (reason, run) {
            return Self::RunActive(run);
        }
        // A version is never reached again, and the caller learns when the quota allows a retry.
        let is_permanent = is(&[Reason::VersionConflict, Reason::QuotaExceeded]);
        // Without a reason, the answer is not the writer's: it comes from the connection or from a proxy.
        let is_retryable = reason == Reason::Other(Code::Internal)
            || matches!(
                reason.code(),
                Code::Unavailable
                    | Code::ResourceExhausted
                    | Code::Aborted
                    | Code::Cancelled
                    | Code::DeadlineExceeded
                    | Code::Unknown
            );
        if is(&[Reason::RunNotActive, Reason::ConversationNotFound, Reason::ConversationErased]) {
            Self::NotActive
        } else if is(&[Reason::RunStopping]) {
            Self::Stopping
        } else if is(&[Reason::PartsSuperseded]) {
            Self::Superseded
        } else if is_retryable && !is_permanent {
            Self::Retryable(problem)
        } else {
            Self::Permanent(problem)
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

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
