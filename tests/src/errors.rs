//! Failures that callers get, in a form that tests compare.

use std::collections::HashMap;
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use wire::proto::write::v1::CommandError;

/// A failure of a unary call or in a stream, with the details that callers rely on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The gRPC status code.
    pub code: Code,
    /// The stable reason; empty without one.
    pub reason: String,
    /// The path of the field that is wrong; empty without one.
    pub field: String,
    /// Bounds and values of the reason.
    pub metadata: HashMap<String, String>,
    /// When a retry is useful.
    pub retry_after: Option<Duration>,
    /// The message for people.
    pub message: String,
}

impl From<Status> for Failure {
    /// # Panics
    /// When the details contradict each other.
    fn from(status: Status) -> Self {
        let details = status.get_error_details();
        let (mut reason, mut metadata) = (String::new(), HashMap::new());
        if let Some(info) = details.error_info() {
            assert_eq!(info.domain, "hansard", "{status:?}");
            reason.clone_from(&info.reason);
            metadata.clone_from(&info.metadata);
        }
        let mut field = String::new();
        for violation in details.bad_request().iter().flat_map(|bad| &bad.field_violations) {
            assert_eq!(violation.reason, reason, "{status:?}");
            assert!(!violation.description.is_empty(), "{status:?}");
            field.clone_from(&violation.field);
        }
        Self {
            code: status.code(),
            reason,
            field,
            metadata,
            retry_after: details.retry_info().and_then(|retry| retry.retry_delay),
            message: status.message().to_owned(),
        }
    }
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        Self {
            code: Code::from(i32::try_from(error.code).unwrap_or(i32::MAX)),
            reason: error.reason,
            field: error.field,
            metadata: error.metadata,
            retry_after: (error.retry_after_ms > 0).then(|| Duration::from_millis(error.retry_after_ms)),
            message: error.message,
        }
    }
}

/// The expected failure of a case: code, reason and field; reason and field may be empty.
pub type Expected = (Code, &'static str, &'static str);

/// Checks that an outcome is the expected failure, and returns it.
///
/// # Panics
/// When it is another failure, or none; `case` names it.
#[track_caller]
pub fn check_failure<T: std::fmt::Debug, E: Into<Failure>>(
    case: &str,
    outcome: Result<T, E>,
    expected: Expected,
) -> Failure {
    let failure: Failure = match outcome {
        Ok(answer) => panic!("{case}: expected {expected:?}, got {answer:?}"),
        Err(failure) => failure.into(),
    };
    let seen = (failure.code, failure.reason.as_str(), failure.field.as_str());
    assert_eq!(seen, expected, "{case}: {failure:?}");
    assert!(!failure.message.is_empty(), "{case}: {failure:?}");
    failure
}

/// Checks that an outcome is `UNAVAILABLE` with a retry delay.
///
/// # Panics
/// When it is anything else; `case` names it.
#[track_caller]
pub fn check_unavailable<T: std::fmt::Debug>(case: &str, outcome: Result<T, Status>, reason: &'static str) {
    let failure = check_failure(case, outcome, (Code::Unavailable, reason, ""));
    let delay = failure.retry_after.unwrap_or_default();
    assert!(!delay.is_zero(), "{case}: {failure:?}");
}
