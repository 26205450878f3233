//! The failure of a call: one type for unary calls and for commands of a stream.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use runtime::tls;
use tonic::{Code, Status, transport};
use tonic_types::{ErrorDetails, StatusExt as _};
use wire::proto::write::v1::CommandError;

/// A service with mutual TLS closes a connection without a client certificate; the TLS alert does not always arrive.
const CLOSED: &str = "the service closed the connection before it answered; if it requires a client certificate, configure one that it trusts";

/// A failed call, with the service's error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Failure {
    /// The gRPC status code.
    pub code: Code,
    /// The stable reason, such as `VERSION_CONFLICT`; empty when the failure did not come from the service.
    pub reason: String,
    /// The cause and the remedy.
    pub message: String,
    /// The delay after which the service suggests a retry.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.reason.is_empty() {
            write!(f, "{} ({:?})", self.message, self.code)
        } else {
            write!(f, "{} ({})", self.message, self.reason)
        }
    }
}

impl Failure {
    /// A connection that broke before the answer arrived: the outcome is unknown, and a retry resolves it.
    pub(crate) fn interrupted() -> Self {
        Self {
            code: Code::Unavailable,
            reason: String::new(),
            message: "the connection was lost before the answer arrived".to_owned(),
            retry_after: None,
        }
    }

    /// Whether the same request may succeed later.
    pub(crate) fn is_transient(&self) -> bool {
        let lost = [Code::Unavailable, Code::DeadlineExceeded, Code::Cancelled];
        self.retry_after.is_some() || lost.contains(&self.code)
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        let details = status.get_error_details();
        let reason = details.error_info().map(|info| info.reason.clone()).unwrap_or_default();
        let source = status.source();
        // tonic's messages hide the cause: no service at the address, or an untrusted certificate.
        let message = match tls::cause(&status) {
            Some(problem) => format!("the TLS connection to the service failed: {problem}"),
            None if status.code() == Code::Unavailable && reason.is_empty() => "the service does not answer".to_owned(),
            // The connection failed before the service answered.
            None if source.is_some_and(<dyn Error>::is::<transport::Error>) => CLOSED.to_owned(),
            None => message(&status, &details),
        };
        let retry_after = details.retry_info().and_then(|retry| retry.retry_delay);
        Self { code: status.code(), reason, message, retry_after }
    }
}

/// The service's message; the descriptions of all fields if several are invalid.
fn message(status: &Status, details: &ErrorDetails) -> String {
    let fields = details.bad_request().map_or(&[][..], |request| &request.field_violations);
    if fields.len() < 2 {
        return status.message().to_owned();
    }
    let descriptions = fields.iter().map(|violation| format!("{} {}", violation.field, violation.description));
    descriptions.collect::<Vec<_>>().join("; ")
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        let retry_after = (error.retry_after_ms > 0).then(|| Duration::from_millis(error.retry_after_ms));
        Self {
            code: Code::from(i32::try_from(error.code).unwrap_or_default()),
            reason: error.reason,
            message: error.message,
            retry_after,
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{Violation, ViolationReason};
    use wire::status::{Problem, Reason};

    use super::*;

    fn check(failure: &Failure, transient: bool, text: &str) {
        assert_eq!((failure.is_transient(), failure.to_string().as_str()), (transient, text));
    }

    #[test]
    fn a_status_and_a_command_error_give_the_same_failure() {
        let problem = Problem::new(Reason::Overloaded, "too much at once").retry_after(Duration::from_millis(50));
        let failure = Failure::from(Status::from(problem));
        assert_eq!(failure.retry_after, Some(Duration::from_millis(50)));
        check(&failure, true, "too much at once (OVERLOADED)");
        let error = CommandError {
            code: 8,
            reason: "OVERLOADED".to_owned(),
            message: "too much at once".to_owned(),
            retry_after_ms: 50,
            ..CommandError::default()
        };
        assert_eq!(Failure::from(error), failure);
    }

    #[test]
    fn the_message_names_every_invalid_field() {
        let wrong = |field| Violation::new(ViolationReason::Malformed, "is wrong").within(field);
        let problem = Problem::from(wrong("a"));
        let message = |problem: &Problem| Failure::from(Status::from(problem.clone())).message;
        assert_eq!(message(&problem), "a is wrong");
        let problem = Problem::from_violations("d", vec![wrong("a"), wrong("b.c")]);
        assert_eq!(message(&problem), "d.a is wrong; d.b.c is wrong");
    }

    #[test]
    fn transient_failures() {
        let status = |code| Failure::from(Status::new(code, "x"));
        check(&status(Code::Unavailable), true, "the service does not answer (Unavailable)");
        check(&status(Code::DeadlineExceeded), true, "x (DeadlineExceeded)");
        check(&status(Code::InvalidArgument), false, "x (InvalidArgument)");
        let problem = Problem::new(Reason::VersionConflict, "moved on");
        check(&Failure::from(Status::from(problem)), false, "moved on (VERSION_CONFLICT)");
    }
}
