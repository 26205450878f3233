//! Errors of the gRPC services: a status code with `google.rpc` details.
//!
//! This module defines the details; each service maps its errors to reasons. Source: <https://google.aip.dev/193>.

use std::collections::HashMap;
use std::time::Duration;

use domain::{Violation, ViolationReason};
use tonic::Status;
use tonic_types::{ErrorDetails, FieldViolation, StatusExt as _};

pub use crate::reason::Reason;

/// `google.rpc.ErrorInfo.domain` of every error.
pub const ERROR_DOMAIN: &str = "hansard";

/// An error for a caller. `From` converts it into a [`Status`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    reason: Reason,
    message: String,
    metadata: Vec<(&'static str, String)>,
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
    field: String,
    reason: Reason,
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
            message: message.into(),
            metadata: Vec::new(),
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
    pub fn of_field(reason: Reason, field: &str, description: impl Into<String>) -> Self {
        let description = description.into();
        let problem = FieldProblem { field: field.to_owned(), reason, description: description.clone() };
        Self { fields: vec![problem], ..Self::new(reason, format!("{field} {description}")) }
    }

    /// An error of all violations in the document in `field`. The first one determines the reason and the message.
    #[must_use]
    pub fn from_violations<V: Into<Violation>>(field: &str, violations: Vec<V>) -> Self {
        let mut violations = violations.into_iter().map(Into::into).map(|violation: Violation| violation.within(field));
        let unknown = || Violation::new(ViolationReason::Malformed, "is invalid").within(field);
        let mut problem = Self::from(violations.next().unwrap_or_else(unknown));
        let more = violations.map(|violation| FieldProblem {
            field: violation.field,
            reason: Reason::Field(violation.reason),
            description: violation.description,
        });
        problem.fields.extend(more);
        problem
    }

    /// Adds a pair to `google.rpc.ErrorInfo.metadata`; keys are `lower_snake_case`.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.metadata.push((key, value.into()));
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

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The path of the invalid field, if there is one.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.fields.first().map(|problem| problem.field.as_str())
    }

    /// The pairs in `google.rpc.ErrorInfo.metadata`.
    pub fn metadata(&self) -> impl Iterator<Item = (&str, &str)> {
        self.metadata.iter().map(|(key, value)| (*key, value.as_str()))
    }

    /// When to retry, if a retry can succeed.
    #[must_use]
    pub fn retry_delay(&self) -> Option<Duration> {
        self.retry_after
    }

    fn details(&self) -> ErrorDetails {
        let metadata: HashMap<String, String> =
            self.metadata.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let mut details = ErrorDetails::with_error_info(self.reason.as_str(), ERROR_DOMAIN, metadata);
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
    let mut violation = FieldViolation::new(&problem.field, &problem.description);
    problem.reason.as_str().clone_into(&mut violation.reason);
    violation
}

impl From<Violation> for Problem {
    fn from(violation: Violation) -> Self {
        let reason = Reason::Field(violation.reason);
        Self::of_field(reason, &violation.field, violation.description)
    }
}

impl From<Problem> for Status {
    fn from(problem: Problem) -> Self {
        let details = problem.details();
        Self::with_error_details(problem.reason.code(), problem.message, details)
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
        assert_eq!(problem.field(), Some("policy_json.a.b"));
        let details = Status::from(problem).get_error_details();
        let request = details.bad_request().expect("bad request");
        let fields = request.field_violations.iter();
        assert!(fields.map(|field| field.field.as_str()).eq(["policy_json.a.b", "policy_json.c"]));
        let none = Problem::from_violations("policy_json", Vec::<Violation>::new());
        assert_eq!(none.field(), Some("policy_json"));
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
}
