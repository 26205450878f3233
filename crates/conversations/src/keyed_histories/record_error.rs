//! Classifies a failed attempt to record: retry, warn the caller, or reject the call.

use tonic::Code;
use wire::status::{Problem, Reason};

use super::warning::Warning;

/// Why messages were not recorded.
#[derive(Debug)]
pub(super) enum RecordError {
    /// A retry may succeed. The caller receives the warning after the last attempt.
    Retryable(Warning),
    /// A retry cannot succeed. The caller receives the warning.
    Permanent(Warning),
    Refused(Problem),
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
impl From<Problem> for RecordError {
    fn from(problem: Problem) -> Self {
        let reason = problem.reason();
        let lost_races =
            [Reason::VersionConflict, Reason::Contention, Reason::ConversationExists, Reason::ConversationNotFound];
        let is_callers_error = matches!(
            reason.code(),
            Code::Unauthenticated | Code::PermissionDenied | Code::InvalidArgument | Code::NotFound
        );
        if lost_races.contains(&reason) {
            Self::Retryable(Warning::Conflict)
        } else if reason == Reason::IdempotencyKeyReused {
            Self::Permanent(Warning::KeyReused)
        } else if reason == Reason::ConversationArchived {
            Self::Permanent(Warning::Archived)
        } else if reason == Reason::ConversationErased {
            Self::Permanent(Warning::Erased)
        } else if is_callers_error {
            Self::Refused(problem)
        } else {
            Self::Retryable(Warning::Unavailable)
        }
    }
}

#[cfg(test)]
mod tests {
    use tonic::Status;

    use super::*;

    fn check(problem: Problem, expected: &str) {
        let message = format!("{problem:?}");
        let seen = match RecordError::from(problem) {
            RecordError::Retryable(warning) => format!("retryable {}", warning.code()),
            RecordError::Permanent(warning) => format!("permanent {}", warning.code()),
            RecordError::Refused(problem) => format!("refused {:?}", problem.reason().code()),
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
            check(Problem::new(reason, "x"), expected);
        }
        check(Status::unavailable("no connection").into(), "retryable HISTORY_UNAVAILABLE");
        check(Status::deadline_exceeded("x").into(), "retryable HISTORY_UNAVAILABLE");
        check(Status::invalid_argument("x").into(), "retryable HISTORY_UNAVAILABLE");
    }
}
