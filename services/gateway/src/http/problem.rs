//! Maps errors of all services to HTTP problems.

use std::borrow::Cow;

use axum::http::StatusCode;
use domain::Violation;
use runtime::http::HttpProblem;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};
use wire::status::{Problem, Reason};

/// The problem of a field that breaks a rule.
#[must_use]
pub fn from_violation(violation: Violation) -> HttpProblem {
    from_problem(Problem::from(violation))
}

/// The conversation does not exist for this caller. The reason is not disclosed.
#[must_use]
pub fn not_found() -> HttpProblem {
    let detail = "no such conversation for this caller: check its id and its owner";
    let code = Reason::ConversationNotFound.as_str();
    HttpProblem::new(StatusCode::NOT_FOUND, code, detail)
}

/// An error of the gateway itself.
#[must_use]
pub fn from_problem(problem: Problem) -> HttpProblem {
    from_status(&Status::from(problem))
}

/// The problem of a gRPC status. If the status has no reason of ours, the problem has no message: the message could
/// contain anything.
#[must_use]
pub fn from_status(status: &Status) -> HttpProblem {
    let details = status.get_error_details();
    let Some(info) = details.error_info() else {
        return unexplained(status.code());
    };
    let code: Cow<'static, str> = info.reason.clone().into();
    let mut problem = HttpProblem::new(status_of(status.code(), &code), code, status.message());
    problem.field = field_of(&details);
    problem.retry_after = details.retry_info().and_then(|retry| retry.retry_delay);
    problem.metadata = info.metadata.clone().into_iter().collect();
    problem
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
            check(&from_problem(Problem::new(reason, "why")), (status, reason.as_str(), "why"));
        }
    }

    #[test]
    fn a_problem_keeps_field_metadata_and_delay() {
        let violation = Violation::new(ViolationReason::OutOfRange, "is 0").within("page.size");
        let problem = Problem::from(violation).with("limit", "7").retry_after(Duration::from_millis(250));
        let problem = from_problem(problem);
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
            let problem = from_status(&Status::new(code, "a secret"));
            assert_eq!((problem.status.as_u16(), &*problem.code), (status, name));
            assert!(!problem.detail.contains("secret"));
        }
    }
}
