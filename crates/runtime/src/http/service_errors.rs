//! Errors of the services as HTTP problems: `?` converts them.

use domain::Violation;
use http::StatusCode;
use tonic::Code;
use wire::status::{Problem, Reason};

use super::field_names::callers_path;
use super::problem::HttpProblem;

/// The detail for a conversation that does not exist for the caller. The reason is not disclosed.
const NOT_FOUND: &str = "no such conversation for this caller: check its id and its owner";

impl From<Problem> for HttpProblem {
    fn from(problem: Problem) -> Self {
        let problem = problem.rename_field(callers_path);
        let (reason, name) = (problem.reason(), problem.reason_name().to_owned());
        let status = status_of(reason.code(), &name);
        if reason == Reason::ConversationNotFound {
            return Self::new(status, name, NOT_FOUND);
        }
        Self {
            field: problem.field().map(ToString::to_string),
            retry_after: problem.retry_delay(),
            metadata: problem.metadata().clone(),
            ..Self::new(status, name, problem.message())
        }
    }
}

impl HttpProblem {
    /// The reason that the services know by the code; `None`: only HTTP has it.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        Reason::parse(&self.code)
    }
}

/// A field that breaks a rule.
impl From<Violation> for HttpProblem {
    fn from(violation: Violation) -> Self {
        Problem::from(violation).into()
    }
}

/// As `google.rpc.Code` specifies, with three exceptions: a state that forbids the request is a conflict, an
/// overloaded server is not the rate limit of the caller, and a file has its own status. Source:
/// <https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto>.
fn status_of(code: Code, reason: &str) -> StatusCode {
    match code {
        Code::Ok => StatusCode::OK,
        Code::InvalidArgument if reason == Reason::AttachmentNotAccepted.as_str() => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::InvalidArgument | Code::OutOfRange => StatusCode::BAD_REQUEST,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted | Code::FailedPrecondition => StatusCode::CONFLICT,
        Code::ResourceExhausted if reason != Reason::Overloaded.as_str() => StatusCode::TOO_MANY_REQUESTS,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable | Code::ResourceExhausted | Code::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Code::Unknown | Code::Internal | Code::DataLoss => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::ViolationReason;

    use super::*;

    fn check(problem: &HttpProblem, expected: (u16, &str, &str)) {
        let actual = (problem.status.as_u16(), &*problem.code, &*problem.detail);
        assert_eq!(actual, expected);
    }

    #[test]
    fn a_reason_is_a_code_with_a_status() {
        for (reason, status) in [
            (Reason::Field(ViolationReason::TooLong), 400),
            (Reason::PageTokenInvalid, 400),
            (Reason::Unauthenticated, 401),
            (Reason::MissingScope, 403),
            (Reason::DestinationNotAllowed, 400),
            (Reason::ModelServerNotAllowed, 403),
            (Reason::ConversationNotFound, 404),
            (Reason::ConversationExists, 409),
            (Reason::VersionConflict, 409),
            (Reason::ConversationArchived, 409),
            (Reason::DataCorrupt, 500),
            (Reason::RecordUnavailable, 503),
            (Reason::ModelNotConfigured, 503),
            (Reason::Overloaded, 503),
        ] {
            let detail = if reason == Reason::ConversationNotFound { NOT_FOUND } else { "why" };
            check(&Problem::new(reason, "why").into(), (status, reason.as_str(), detail));
        }
    }

    #[test]
    fn a_problem_keeps_field_metadata_and_delay() {
        let violation = Violation::new(ViolationReason::OutOfRange, "is 0").within("page.size");
        let problem = Problem::from(violation).with("limit", "7").retry_after(Duration::from_millis(250));
        let problem = HttpProblem::from(problem);
        check(&problem, (400, "FIELD_OUT_OF_RANGE", "page.size is 0"));
        assert_eq!(problem.field.as_deref(), Some("page.size"));
        assert_eq!(problem.retry_after, Some(Duration::from_millis(250)));
        assert_eq!(problem.metadata["limit"], "7");
    }
}
