//! What the writer's refusal means to a run.

use domain::RunId;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use wire::status::Reason;

/// Why the writer did not do what it was asked.
#[derive(Debug)]
pub enum Refusal {
    /// Another run goes on.
    RunActive(RunId),
    /// The run is over, or never was.
    NotActive,
    /// The run was asked to stop: only its end is taken.
    Stopping,
    /// Somebody else published parts of the run.
    Superseded,
    /// It may pass: the same request may be sent again.
    Passing(Status),
    /// It does not pass.
    Lasting(Status),
}

impl Refusal {
    /// Whether the same request may be sent again.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Passing(_))
    }
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        let info = status.get_details_error_info();
        let Some(info) = info else {
            // Nothing of ours said it: the connection, or what stands between.
            return Self::Passing(status);
        };
        let is = |expected: Reason| expected.as_str() == info.reason;
        let run = info.metadata.get("run_id").map(|run| RunId::parse(run));
        match (status.code(), run) {
            (_, Some(Ok(run))) if is(Reason::RunActive) => Self::RunActive(run),
            _ if is(Reason::RunNotActive)
                || is(Reason::ConversationNotFound)
                || is(Reason::ConversationErased) =>
            {
                Self::NotActive
            }
            _ if is(Reason::RunStopping) => Self::Stopping,
            _ if is(Reason::PartsSuperseded) => Self::Superseded,
            // The conversation does not go back to the version that was asked for.
            _ if is(Reason::VersionConflict) => Self::Lasting(status),
            // The caller is told when the quota frees.
            _ if is(Reason::QuotaExceeded) => Self::Lasting(status),
            (
                Code::Unavailable
                | Code::ResourceExhausted
                | Code::Aborted
                | Code::Cancelled
                | Code::DeadlineExceeded
                | Code::Unknown,
                _,
            ) => Self::Passing(status),
            (
                Code::Ok
                | Code::InvalidArgument
                | Code::NotFound
                | Code::AlreadyExists
                | Code::PermissionDenied
                | Code::FailedPrecondition
                | Code::OutOfRange
                | Code::Unimplemented
                | Code::Internal
                | Code::DataLoss
                | Code::Unauthenticated,
                _,
            ) => Self::Lasting(status),
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
        let seen = match Refusal::from(status) {
            Refusal::RunActive(run) => format!("active {run}"),
            Refusal::NotActive => "not active".to_owned(),
            Refusal::Stopping => "stopping".to_owned(),
            Refusal::Superseded => "superseded".to_owned(),
            Refusal::Passing(_) => "passing".to_owned(),
            Refusal::Lasting(_) => "lasting".to_owned(),
        };
        assert_eq!(seen, expected, "{message}");
    }

    #[test]
    fn the_writers_words_are_understood() {
        let run = Uuid::nil().to_string();
        let active = Problem::new(Reason::RunActive, "x").with("run_id", run.clone());
        check(active.into(), &format!("active {run}"));
        for (reason, expected) in [
            (Reason::RunActive, "lasting"),
            (Reason::RunNotActive, "not active"),
            (Reason::ConversationNotFound, "not active"),
            (Reason::ConversationErased, "not active"),
            (Reason::RunStopping, "stopping"),
            (Reason::PartsSuperseded, "superseded"),
            (Reason::RecordUnavailable, "passing"),
            (Reason::Draining, "passing"),
            (Reason::Overloaded, "passing"),
            (Reason::QuotaExceeded, "lasting"),
            (Reason::Contention, "passing"),
            (Reason::VersionConflict, "lasting"),
            (Reason::ConversationArchived, "lasting"),
            (Reason::Unauthenticated, "lasting"),
            (Reason::TooManyOpenCalls, "lasting"),
        ] {
            check(Problem::new(reason, "x").into(), expected);
        }
        check(Status::unknown("transport error"), "passing");
        check(Status::internal("h2 protocol error"), "passing");
    }
}
