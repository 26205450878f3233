//! Classifies a failed attempt to record: retry, warn the caller, or reject the call.

use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use wire::status::Reason;

use super::warning::Warning;
use crate::writer::without_headers;

/// Why messages were not recorded.
#[derive(Debug)]
pub(super) enum RecordError {
    /// A retry may succeed. The caller receives the warning after the last attempt.
    Retryable(Warning),
    /// A retry cannot succeed. The caller receives the warning.
    Permanent(Warning),
    Refused(Status),
}

/// An error of the read.
impl From<Warning> for RecordError {
    fn from(warning: Warning) -> Self {
        match warning {
            Warning::Unavailable | Warning::Conflict => Self::Retryable(warning),
            Warning::NoValidKey | Warning::OwnerMismatch | Warning::KeyReused | Warning::Archived | Warning::Erased => {
                Self::Permanent(warning)
            }
        }
    }
}

/// An error of the writer.
impl From<Status> for RecordError {
    fn from(status: Status) -> Self {
        let info = status.get_details_error_info();
        let reason = info.as_ref().map_or("", |info| info.reason.as_str());
        let is = |expected: Reason| expected.as_str() == reason;
        let has_lost_race = is(Reason::VersionConflict)
            || is(Reason::Contention)
            || is(Reason::ConversationExists)
            || is(Reason::ConversationNotFound);
        let is_callers_error = matches!(
            status.code(),
            Code::Unauthenticated | Code::PermissionDenied | Code::InvalidArgument | Code::NotFound
        );
        if has_lost_race {
            Self::Retryable(Warning::Conflict)
        } else if is(Reason::IdempotencyKeyReused) {
            Self::Permanent(Warning::KeyReused)
        } else if is(Reason::ConversationArchived) {
            Self::Permanent(Warning::Archived)
        } else if is(Reason::ConversationErased) {
            Self::Permanent(Warning::Erased)
        } else if is_callers_error {
            Self::Refused(without_headers(&status))
        } else {
            Self::Retryable(Warning::Unavailable)
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::status::Problem;

    use super::*;

    fn check(status: Status, expected: &str) {
        let message = status.to_string();
        let seen = match RecordError::from(status) {
            RecordError::Retryable(warning) => format!("retryable {}", warning.code()),
            RecordError::Permanent(warning) => format!("permanent {}", warning.code()),
            RecordError::Refused(status) => format!("refused {:?}", status.code()),
        };
        assert_eq!(seen, expected, "{message}");
    }

    #[test]
    fn only_errors_of_the_caller_reject_the_call() {
        for (reason, expected) in [
            (Reason::VersionConflict, "retryable CONFLICT"),
            (Reason::Contention, "retryable CONFLICT"),
            (Reason::ConversationExists, "retryable CONFLICT"),
            (Reason::ConversationNotFound, "retryable CONFLICT"),
            (Reason::IdempotencyKeyReused, "permanent IDEMPOTENCY_KEY_REUSED"),
            (Reason::ConversationArchived, "permanent CONVERSATION_ARCHIVED"),
            (Reason::ConversationErased, "permanent CONVERSATION_ERASED"),
            (Reason::Unauthenticated, "refused Unauthenticated"),
            (Reason::MissingScope, "refused PermissionDenied"),
            (Reason::AgentNotFound, "refused NotFound"),
            (Reason::RecordUnavailable, "retryable HISTORY_UNAVAILABLE"),
            (Reason::Overloaded, "retryable HISTORY_UNAVAILABLE"),
            (Reason::Draining, "retryable HISTORY_UNAVAILABLE"),
            (Reason::DataCorrupt, "retryable HISTORY_UNAVAILABLE"),
        ] {
            check(Problem::new(reason, "x").into(), expected);
        }
        check(Status::unavailable("no connection"), "retryable HISTORY_UNAVAILABLE");
        check(Status::deadline_exceeded("x"), "retryable HISTORY_UNAVAILABLE");
        check(Status::invalid_argument("x"), "refused InvalidArgument");
    }

    #[test]
    fn a_refusal_keeps_its_details() {
        let status = Status::from(Problem::new(Reason::MissingScope, "needs append"));
        let RecordError::Refused(passed) = RecordError::from(status) else {
            panic!("the call is not rejected");
        };
        let info = passed.get_details_error_info().expect("error info");
        assert_eq!((info.reason.as_str(), passed.message()), ("MISSING_SCOPE", "needs append"));
    }
}
