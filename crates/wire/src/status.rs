//! Errors of the gRPC services: a status code with `google.rpc` details.
//!
//! This module defines the details; each service maps its errors to reasons. Source: <https://google.aip.dev/193>.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use domain::{FieldPath, Violation, ViolationReason};
use tonic::Status;
use tonic_types::{ErrorDetails, FieldViolation, StatusExt as _};

use crate::reason::CodeOnly;
pub use crate::reason::Reason;

/// `google.rpc.ErrorInfo.domain` of every error.
pub const ERROR_DOMAIN: &str = "hansard";

/// An error for a caller. `From` converts it into a [`Status`], and the status of another service into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    reason: Reason,
    /// The reason's name, if this version does not know it.
    other_name: Option<Box<str>>,
    message: String,
    metadata: BTreeMap<String, String>,
    fields: Vec<FieldProblem>,
    retry_after: Option<Duration>,
    quota: Option<Box<QuotaProblem>>,
}

/// The quota that is exceeded, and its subject.
#[derive(Debug, Clone, PartialEq, Eq)]
struct QuotaProblem {
    subject: String,
    description: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldProblem {
    field: FieldPath,
    /// The name of the reason.
    reason: String,
    description: String,
}

/// Delay before a retry while rows and record do not belong together.
const DIVERGED_RETRY_AFTER: Duration = Duration::from_secs(5);

impl Problem {
    /// An error with its reason and a message with the remedy. The message never contains content of a conversation.
    #[must_use]
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            other_name: None,
            message: message.into(),
            metadata: BTreeMap::new(),
            fields: Vec::new(),
            retry_after: None,
            quota: None,
        }
    }

    /// Rows and record do not belong together.
    #[must_use]
    pub fn diverged() -> Self {
        let message = "rows and record do not belong together, and nothing is read or written until an operator has decided: see hansard status";
        Self::new(Reason::RecordDiverged, message).retry_after(DIVERGED_RETRY_AFTER)
    }

    /// An error of one field. `google.rpc.BadRequest` contains its reason, path and description.
    #[must_use]
    pub fn of_field(reason: Reason, field: impl Into<FieldPath>, description: impl Into<String>) -> Self {
        let (field, description) = (field.into(), description.into());
        let message = format!("{field} {description}");
        let problem = FieldProblem { field, reason: reason.as_str().to_owned(), description };
        Self { fields: vec![problem], ..Self::new(reason, message) }
    }

    /// Names the field that the error is about.
    #[must_use]
    pub fn in_field(mut self, field: impl Into<FieldPath>) -> Self {
        let reason = self.reason_name().to_owned();
        self.fields = vec![FieldProblem { field: field.into(), reason, description: self.message.clone() }];
        self
    }

    /// Renames the field, also where the message begins with it; `None`: the name stays.
    #[must_use]
    pub fn rename_field(mut self, name: impl FnOnce(&FieldPath) -> Option<FieldPath>) -> Self {
        if let Some(problem) = self.fields.first_mut()
            && let Some(name) = name(&problem.field)
        {
            if let Some(rest) = self.message.strip_prefix(&problem.field.to_string()) {
                self.message = format!("{name}{rest}");
            }
            problem.field = name;
        }
        self
    }

    /// An error of all violations in the document in `field`. The first one determines the reason and the message.
    #[must_use]
    pub fn from_violations<V: Into<Violation>>(field: &str, violations: Vec<V>) -> Self {
        let mut violations = violations.into_iter().map(Into::into).map(|violation: Violation| violation.within(field));
        let unknown = || Violation::new(ViolationReason::Malformed, "is invalid").within(field);
        let mut problem = Self::from(violations.next().unwrap_or_else(unknown));
        let more = violations.map(|violation| FieldProblem {
            field: violation.field,
            reason: violation.reason.as_str().to_owned(),
            description: violation.description,
        });
        problem.fields.extend(more);
        problem
    }

    /// Adds a pair to `google.rpc.ErrorInfo.metadata`; keys are `lower_snake_case`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<String>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }

    /// Adds when to retry, as `google.rpc.RetryInfo`.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        self
    }

    /// Adds the exceeded quota, as `google.rpc.QuotaFailure`; `subject` is the consumer that it limits.
    #[must_use]
    pub fn with_quota(mut self, subject: &str, description: impl Into<String>) -> Self {
        self.quota = Some(Box::new(QuotaProblem { subject: subject.to_owned(), description: description.into() }));
        self
    }

    /// The reason.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// The name of the reason.
    #[must_use]
    pub fn reason_name(&self) -> &str {
        self.other_name.as_deref().unwrap_or(self.reason.as_str())
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The path of the invalid field, if there is one.
    #[must_use]
    pub fn field(&self) -> Option<&FieldPath> {
        self.fields.first().map(|problem| &problem.field)
    }

    /// The pairs in `google.rpc.ErrorInfo.metadata`.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// When to retry, if a retry can succeed.
    #[must_use]
    pub fn retry_delay(&self) -> Option<Duration> {
        self.retry_after
    }

    fn details(&self) -> ErrorDetails {
        let metadata: HashMap<String, String> = self.metadata.clone().into_iter().collect();
        let mut details = ErrorDetails::with_error_info(self.reason_name(), ERROR_DOMAIN, metadata);
        if let Some(delay) = self.retry_after {
            details.set_retry_info(Some(delay));
        }
        if let Some(quota) = &self.quota {
            details.add_quota_failure_violation(&quota.subject, &quota.description);
        }
        let violations: Vec<FieldViolation> = self.fields.iter().map(field_violation).collect();
        if !violations.is_empty() {
            details.set_bad_request(violations);
        }
        details
    }
}

fn field_violation(problem: &FieldProblem) -> FieldViolation {
    let mut violation = FieldViolation::new(problem.field.to_string(), &problem.description);
    violation.reason.clone_from(&problem.reason);
    violation
}

impl From<Violation> for Problem {
    fn from(violation: Violation) -> Self {
        let reason = Reason::Field(violation.reason);
        Self::of_field(reason, violation.field, violation.description)
    }
}

impl From<Problem> for Status {
    fn from(problem: Problem) -> Self {
        let details = problem.details();
        Self::with_error_details(problem.reason.code(), problem.message, details)
    }
}

/// The answer of another service. Without a reason of ours, the problem has a message of its own: the service's could contain
/// anything.
impl From<Status> for Problem {
    fn from(status: Status) -> Self {
        let details = status.get_error_details();
        let Some(info) = details.error_info() else {
            let CodeOnly { code, message, .. } = CodeOnly::of(status.code());
            return Self::new(Reason::Other(code), message);
        };
        let known = Reason::parse(&info.reason);
        let violations = details.bad_request().map(|request| request.field_violations.as_slice()).unwrap_or_default();
        let quota = details.quota_failure().and_then(|quota| quota.violations.first());
        Self {
            reason: known.unwrap_or(Reason::Other(status.code())),
            other_name: known.is_none().then(|| info.reason.as_str().into()),
            message: status.message().to_owned(),
            metadata: info.metadata.clone().into_iter().collect(),
            fields: violations.iter().map(field_problem).collect(),
            retry_after: details.retry_info().and_then(|retry| retry.retry_delay),
            quota: quota.map(|quota| {
                Box::new(QuotaProblem { subject: quota.subject.clone(), description: quota.description.clone() })
            }),
        }
    }
}

fn field_problem(violation: &FieldViolation) -> FieldProblem {
    FieldProblem {
        field: FieldPath::from(&violation.field),
        reason: violation.reason.clone(),
        description: violation.description.clone(),
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    #[test]
    fn a_violation_names_its_field_and_reason_in_both_details() {
        let violation =
            Violation::new(ViolationReason::OutOfRange, "is 201, at most 200 are allowed").within("page_size");
        let status = Status::from(Problem::from(violation));
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(status.message(), "page_size is 201, at most 200 are allowed");
        let details = status.get_error_details();
        let info = details.error_info().expect("error info");
        assert_eq!((info.reason.as_str(), info.domain.as_str()), ("FIELD_OUT_OF_RANGE", "hansard"));
        let request = details.bad_request().expect("bad request");
        assert_eq!(request.field_violations.len(), 1);
        assert_eq!(request.field_violations[0].field, "page_size");
        assert_eq!(request.field_violations[0].reason, "FIELD_OUT_OF_RANGE");
        assert!(details.retry_info().is_none());
    }

    #[test]
    fn all_that_is_wrong_in_a_document_is_told() {
        let of = |field: &str| Violation::new(ViolationReason::OutOfRange, "is 0").within(field);
        let problem = Problem::from_violations("policy_json", vec![of("a.b"), of("c")]);
        assert_eq!(*problem.field().unwrap(), *"policy_json.a.b");
        let details = Status::from(problem).get_error_details();
        let request = details.bad_request().expect("bad request");
        let fields = request.field_violations.iter();
        assert!(fields.map(|field| field.field.as_str()).eq(["policy_json.a.b", "policy_json.c"]));
        let none = Problem::from_violations("policy_json", Vec::<Violation>::new());
        assert_eq!(*none.field().unwrap(), *"policy_json");
    }

    #[test]
    fn metadata_and_retry_travel() {
        let problem = Problem::new(Reason::VersionConflict, "another version")
            .with("current_version", "7")
            .retry_after(Duration::from_millis(250));
        let status = Status::from(problem);
        assert_eq!(status.code(), Code::Aborted);
        let details = status.get_error_details();
        let info = details.error_info().expect("error info");
        assert_eq!(info.metadata["current_version"], "7");
        let retry = details.retry_info().expect("retry info");
        assert_eq!(retry.retry_delay, Some(Duration::from_millis(250)));
        assert!(details.bad_request().is_none());
    }

    #[test]
    fn an_answer_comes_back_as_it_was() {
        let violation = Violation::new(ViolationReason::TooLong, "has 2 bytes").within("title");
        for problem in [
            Problem::new(Reason::VersionConflict, "another version").with("current_version", "7"),
            Problem::from(violation),
            Problem::new(Reason::QuotaExceeded, "too many")
                .with_quota("tenants/a", "runs per minute")
                .retry_after(Duration::from_secs(2)),
        ] {
            assert_eq!(Problem::from(Status::from(problem.clone())), problem);
        }
    }

    #[test]
    fn a_reason_of_a_later_version_is_passed_on() {
        let details = ErrorDetails::with_error_info("TOO_LOUD", ERROR_DOMAIN, HashMap::new());
        let status = Status::with_error_details(Code::FailedPrecondition, "whisper", details);
        let problem = Problem::from(status.clone());
        assert_eq!((problem.reason_name(), problem.message()), ("TOO_LOUD", "whisper"));
        assert_eq!(problem.reason(), Reason::Other(Code::FailedPrecondition));
        let passed = Status::from(problem);
        assert_eq!((passed.code(), passed.details()), (status.code(), status.details()));
    }

    #[test]
    fn messages_without_a_reason_are_not_quoted() {
        for (code, passed, name) in [
            (Code::Unavailable, Code::Unavailable, "UNAVAILABLE"),
            (Code::DeadlineExceeded, Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
            (Code::ResourceExhausted, Code::ResourceExhausted, "OVERLOADED"),
            (Code::Cancelled, Code::Cancelled, "CANCELLED"),
            (Code::InvalidArgument, Code::Internal, "INTERNAL"),
            (Code::Unknown, Code::Internal, "INTERNAL"),
        ] {
            let problem = Problem::from(Status::new(code, "a secret"));
            assert_eq!((problem.reason().code(), problem.reason_name()), (passed, name));
            assert!(!problem.message().contains("secret"));
        }
    }
}
