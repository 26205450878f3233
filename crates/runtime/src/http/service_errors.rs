//! Errors of the services as HTTP problems: `?` converts them.

use std::borrow::Cow;

use domain::Violation;
use http::StatusCode;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};
use wire::status::{Problem, Reason};

use super::problem::HttpProblem;

/// The detail for a conversation that does not exist for the caller. The reason is not disclosed.
const NOT_FOUND: &str = "no such conversation for this caller: check its id and its owner";

impl From<Problem> for HttpProblem {
    fn from(problem: Problem) -> Self {
        let reason = problem.reason();
        let status = status_of(reason.code(), reason.as_str());
        if reason == Reason::ConversationNotFound {
            return Self::new(status, reason.as_str(), NOT_FOUND);
        }
        let mut converted = Self::new(status, reason.as_str(), problem.message());
        converted.field = problem.field().map(str::to_owned);
        converted.retry_after = problem.retry_delay();
        converted.metadata = problem.metadata().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        converted
    }
}

/// A field that breaks a rule.
impl From<Violation> for HttpProblem {
    fn from(violation: Violation) -> Self {
        Problem::from(violation).into()
    }
}

/// A status of another service. If it has no reason of ours, the problem has no message: the message could contain anything.
impl From<&Status> for HttpProblem {
    fn from(status: &Status) -> Self {
        let details = status.get_error_details();
        let Some(info) = details.error_info() else {
            return unexplained(status.code());
        };
        let code: Cow<'static, str> = info.reason.clone().into();
        let mut problem = Self::new(status_of(status.code(), &code), code, status.message());
        problem.field = field_of(&details);
        problem.retry_after = details.retry_info().and_then(|retry| retry.retry_delay);
        problem.metadata = info.metadata.clone().into_iter().collect();
        problem
    }
}

impl From<Status> for HttpProblem {
    fn from(status: Status) -> Self {
        Self::from(&status)
    }
}

fn field_of(details: &ErrorDetails) -> Option<String> {
    let violations = &details.bad_request()?.field_violations;
    Some(violations.first()?.field.clone())
}

fn unexplained(code: Code) -> HttpProblem {
    let (name, detail) = match code {
        Code::Unavailable => ("UNAVAILABLE", "a service does not answer: try again"),
        Code::DeadlineExceeded => ("DEADLINE_EXCEEDED", "a service did not answer in time: try again"),
        Code::ResourceExhausted => ("OVERLOADED", "a service is at its bound: try again later"),
        Code::Cancelled => ("CANCELLED", "the call was cancelled"),
        Code::Ok
        | Code::Unknown
        | Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::Internal
        | Code::DataLoss
        | Code::Unauthenticated => {
            let detail = "the server failed to answer: try again, or report the request id";
            return HttpProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", detail);
        }
    };
    HttpProblem::new(status_of(code, name), name, detail)
}

/// As `google.rpc.Code` specifies, with two exceptions: a state that forbids the request is a conflict, and an
/// overloaded server is not the rate limit of the caller. Source:
/// <https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto>.
fn status_of(code: Code, reason: &str) -> StatusCode {
    match code {
        Code::Ok => StatusCode::OK,
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

    #[test]
    fn messages_of_other_services_are_not_quoted() {
        for (code, status, name) in [
            (Code::Unavailable, 503, "UNAVAILABLE"),
            (Code::DeadlineExceeded, 504, "DEADLINE_EXCEEDED"),
            (Code::ResourceExhausted, 503, "OVERLOADED"),
            (Code::Cancelled, 503, "CANCELLED"),
            (Code::InvalidArgument, 500, "INTERNAL"),
            (Code::Unknown, 500, "INTERNAL"),
        ] {
            let problem = HttpProblem::from(&Status::new(code, "a secret"));
            assert_eq!((problem.status.as_u16(), &*problem.code), (status, name));
            assert!(!problem.detail.contains("secret"));
        }
    }
}
