//! What a failed try to record means: try again, warn, or refuse.

use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use wire::status::Reason;

use super::warning::Warning;

/// Why nothing, or not all, was recorded.
#[derive(Debug)]
pub(super) enum Setback {
    /// It may pass; what the caller is told when it does not.
    Passing(Warning),
    /// It does not pass, and is told.
    Lasting(Warning),
    /// The call is refused.
    Refused(Status),
}

/// A history that cannot be read: a store that does not answer may do so later.
impl From<Warning> for Setback {
    fn from(warning: Warning) -> Self {
        match warning {
            Warning::Unavailable | Warning::Conflict => Self::Passing(warning),
            Warning::NoValidKey
            | Warning::OwnerMismatch
            | Warning::KeyReused
            | Warning::Archived
            | Warning::Erased => Self::Lasting(warning),
        }
    }
}

/// What the writer said.
impl From<Status> for Setback {
    fn from(status: Status) -> Self {
        let info = status.get_details_error_info();
        let reason = info.as_ref().map_or("", |info| info.reason.as_str());
        let is = |expected: Reason| expected.as_str() == reason;
        let is_outrun = is(Reason::VersionConflict)
            || is(Reason::Contention)
            || is(Reason::ConversationExists)
            || is(Reason::ConversationNotFound);
        match status.code() {
            _ if is_outrun => Self::Passing(Warning::Conflict),
            _ if is(Reason::IdempotencyKeyReused) => Self::Lasting(Warning::KeyReused),
            _ if is(Reason::ConversationArchived) => Self::Lasting(Warning::Archived),
            _ if is(Reason::ConversationErased) => Self::Lasting(Warning::Erased),
            Code::Unauthenticated
            | Code::PermissionDenied
            | Code::InvalidArgument
            | Code::NotFound => Self::Refused(passed_on(&status)),
            // Whatever else goes wrong between gateway, writer and record.
            Code::Ok
            | Code::Cancelled
            | Code::Unknown
            | Code::DeadlineExceeded
            | Code::AlreadyExists
            | Code::ResourceExhausted
            | Code::FailedPrecondition
            | Code::Aborted
            | Code::OutOfRange
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss => Self::Passing(Warning::Unavailable),
        }
    }
}

/// The writer's refusal without the headers of its answer.
fn passed_on(status: &Status) -> Status {
    let details = status.details().to_vec().into();
    Status::with_details(status.code(), status.message(), details)
}

#[cfg(test)]
mod tests {
    use wire::status::Problem;

    use super::*;

    fn check(status: Status, expected: &str) {
        let message = status.to_string();
        let seen = match Setback::from(status) {
            Setback::Passing(warning) => format!("passing {}", warning.code()),
            Setback::Lasting(warning) => format!("lasting {}", warning.code()),
            Setback::Refused(status) => format!("refused {:?}", status.code()),
        };
        assert_eq!(seen, expected, "{message}");
    }

    #[test]
    fn only_what_the_caller_can_mend_is_refused() {
        for (reason, expected) in [
            (Reason::VersionConflict, "passing CONFLICT"),
            (Reason::Contention, "passing CONFLICT"),
            (Reason::ConversationExists, "passing CONFLICT"),
            (Reason::ConversationNotFound, "passing CONFLICT"),
            (
                Reason::IdempotencyKeyReused,
                "lasting IDEMPOTENCY_KEY_REUSED",
            ),
            (
                Reason::ConversationArchived,
                "lasting CONVERSATION_ARCHIVED",
            ),
            (Reason::ConversationErased, "lasting CONVERSATION_ERASED"),
            (Reason::Unauthenticated, "refused Unauthenticated"),
            (Reason::MissingScope, "refused PermissionDenied"),
            (Reason::AgentNotFound, "refused NotFound"),
            (Reason::RecordUnavailable, "passing HISTORY_UNAVAILABLE"),
            (Reason::Overloaded, "passing HISTORY_UNAVAILABLE"),
            (Reason::Draining, "passing HISTORY_UNAVAILABLE"),
            (Reason::DataCorrupt, "passing HISTORY_UNAVAILABLE"),
        ] {
            check(Problem::new(reason, "x").into(), expected);
        }
        check(
            Status::unavailable("no connection"),
            "passing HISTORY_UNAVAILABLE",
        );
        check(
            Status::deadline_exceeded("x"),
            "passing HISTORY_UNAVAILABLE",
        );
        check(Status::invalid_argument("x"), "refused InvalidArgument");
    }

    #[test]
    fn a_refusal_keeps_its_details() {
        let status = Status::from(Problem::new(Reason::MissingScope, "needs append"));
        let Setback::Refused(passed) = Setback::from(status) else {
            panic!("not refused");
        };
        let info = passed.get_details_error_info().expect("error info");
        assert_eq!(
            (info.reason.as_str(), passed.message()),
            ("MISSING_SCOPE", "needs append")
        );
    }
}
