//! Errors as callers of the gRPC services see them: a status code with `google.rpc` details.
//!
//! Owns the stable reasons, their codes and the shape of the details; which error gives which reason is each service's
//! own business. Source of the shape: <https://google.aip.dev/193>.

use std::collections::HashMap;
use std::time::Duration;

use domain::{Violation, ViolationReason};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt as _};

/// `google.rpc.ErrorInfo.domain` of every error of Hansard's.
pub const ERROR_DOMAIN: &str = "hansard";

/// Why a call failed. The names are stable: callers branch on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A field breaks a rule.
    Field(ViolationReason),
    /// No bearer token, or one that is unknown or revoked.
    Unauthenticated,
    /// The token lacks the scope that the call needs.
    MissingScope,
    /// No such agent, or another tenant's.
    AgentNotFound,
    /// No such conversation, or another's.
    ConversationNotFound,
    /// No such tenant, agent, key or token in the registry, or another tenant's.
    RegistryEntryNotFound,
    /// The id of a tenant or agent is taken.
    RegistryEntryExists,
    /// The id is taken.
    ConversationExists,
    /// The conversation is at another version than the caller expected.
    VersionConflict,
    /// Others were faster, time and again.
    Contention,
    /// The conversation is closed for events.
    ConversationArchived,
    /// The conversation is gone for good.
    ConversationErased,
    /// A result without its call.
    ToolCallNotOpen,
    /// A call under the id of one that still waits.
    ToolCallAlreadyOpen,
    /// A result that names another tool than its call.
    ToolMismatch,
    /// More calls than may wait at once.
    TooManyOpenCalls,
    /// A summary of what has not happened yet.
    SummaryBeyondHistory,
    /// A summary that reaches no further than an earlier one.
    SummaryStale,
    /// The key was used for another request.
    IdempotencyKeyReused,
    /// Not a page token.
    PageTokenInvalid,
    /// A page token of another query.
    PageTokenOfOtherQuery,
    /// Not a position token.
    PositionTokenMalformed,
    /// A position token of another record.
    PositionTokenOfOtherRecord,
    /// The position was not reached in time.
    PositionNotReached,
    /// The record does not answer.
    RecordUnavailable,
    /// The read model does not answer.
    ReadModelUnavailable,
    /// The service is ending: another instance takes over.
    Draining,
    /// A bound on what is served at once.
    Overloaded,
    /// The instructions, or the newest turn, do not fit the budget.
    BudgetTooSmall,
    /// A template of the context policy cannot be rendered.
    TemplateFailed,
    /// What is kept cannot be read.
    DataCorrupt,
}

impl Reason {
    /// The reason as it travels in `google.rpc.ErrorInfo.reason`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Field(reason) => reason.as_str(),
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::MissingScope => "MISSING_SCOPE",
            Self::AgentNotFound => "AGENT_NOT_FOUND",
            Self::ConversationNotFound => "CONVERSATION_NOT_FOUND",
            Self::RegistryEntryNotFound => "REGISTRY_ENTRY_NOT_FOUND",
            Self::RegistryEntryExists => "REGISTRY_ENTRY_EXISTS",
            Self::ConversationExists => "CONVERSATION_EXISTS",
            Self::VersionConflict => "VERSION_CONFLICT",
            Self::Contention => "CONTENTION",
            Self::ConversationArchived => "CONVERSATION_ARCHIVED",
            Self::ConversationErased => "CONVERSATION_ERASED",
            Self::ToolCallNotOpen => "TOOL_CALL_NOT_OPEN",
            Self::ToolCallAlreadyOpen => "TOOL_CALL_ALREADY_OPEN",
            Self::ToolMismatch => "TOOL_MISMATCH",
            Self::TooManyOpenCalls => "TOO_MANY_OPEN_CALLS",
            Self::SummaryBeyondHistory => "SUMMARY_BEYOND_HISTORY",
            Self::SummaryStale => "SUMMARY_STALE",
            Self::IdempotencyKeyReused => "IDEMPOTENCY_KEY_REUSED",
            Self::PageTokenInvalid => "PAGE_TOKEN_INVALID",
            Self::PageTokenOfOtherQuery => "PAGE_TOKEN_OF_OTHER_QUERY",
            Self::PositionTokenMalformed => "POSITION_TOKEN_MALFORMED",
            Self::PositionTokenOfOtherRecord => "POSITION_TOKEN_OF_OTHER_RECORD",
            Self::PositionNotReached => "POSITION_NOT_REACHED",
            Self::RecordUnavailable => "RECORD_UNAVAILABLE",
            Self::ReadModelUnavailable => "READ_MODEL_UNAVAILABLE",
            Self::Draining => "DRAINING",
            Self::Overloaded => "OVERLOADED",
            Self::BudgetTooSmall => "BUDGET_TOO_SMALL",
            Self::TemplateFailed => "TEMPLATE_FAILED",
            Self::DataCorrupt => "DATA_CORRUPT",
        }
    }

    /// The status code that the reason comes with.
    #[must_use]
    pub fn code(self) -> Code {
        match self {
            Self::Field(_)
            | Self::PageTokenInvalid
            | Self::PageTokenOfOtherQuery
            | Self::PositionTokenMalformed
            | Self::PositionTokenOfOtherRecord => Code::InvalidArgument,
            Self::Unauthenticated => Code::Unauthenticated,
            Self::MissingScope => Code::PermissionDenied,
            Self::AgentNotFound | Self::ConversationNotFound | Self::RegistryEntryNotFound => {
                Code::NotFound
            }
            Self::ConversationExists | Self::RegistryEntryExists => Code::AlreadyExists,
            Self::VersionConflict | Self::Contention => Code::Aborted,
            Self::ConversationArchived
            | Self::ConversationErased
            | Self::ToolCallNotOpen
            | Self::ToolCallAlreadyOpen
            | Self::ToolMismatch
            | Self::TooManyOpenCalls
            | Self::SummaryBeyondHistory
            | Self::SummaryStale
            | Self::IdempotencyKeyReused
            | Self::BudgetTooSmall
            | Self::TemplateFailed => Code::FailedPrecondition,
            Self::PositionNotReached
            | Self::RecordUnavailable
            | Self::ReadModelUnavailable
            | Self::Draining => Code::Unavailable,
            Self::Overloaded => Code::ResourceExhausted,
            Self::DataCorrupt => Code::DataLoss,
        }
    }
}

/// An error on its way to a caller. Becomes a [`Status`] by `From`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    reason: Reason,
    message: String,
    metadata: Vec<(&'static str, String)>,
    fields: Vec<FieldProblem>,
    retry_after: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldProblem {
    field: String,
    reason: Reason,
    description: String,
}

impl Problem {
    /// An error with nothing but its reason, and a message that says the mend. Never the content of a conversation.
    #[must_use]
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            metadata: Vec::new(),
            fields: Vec::new(),
            retry_after: None,
        }
    }

    /// An error of one field; reason, path and description travel in `google.rpc.BadRequest` too.
    #[must_use]
    pub fn of_field(reason: Reason, field: &str, description: impl Into<String>) -> Self {
        let description = description.into();
        let problem = FieldProblem {
            field: field.to_owned(),
            reason,
            description: description.clone(),
        };
        Self {
            fields: vec![problem],
            ..Self::new(reason, format!("{field} {description}"))
        }
    }

    /// The same with more fields that are wrong.
    #[must_use]
    pub fn and_violations(mut self, violations: impl IntoIterator<Item = Violation>) -> Self {
        let more = violations.into_iter().map(|violation| FieldProblem {
            field: violation.field,
            reason: Reason::Field(violation.reason),
            description: violation.description,
        });
        self.fields.extend(more);
        self
    }

    /// Adds a pair to `google.rpc.ErrorInfo.metadata`; keys are `lower_snake_case`.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.metadata.push((key, value.into()));
        self
    }

    /// Says when to try again, by `google.rpc.RetryInfo`.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        self
    }

    /// The reason.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// What is said to people.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The path of the field that is wrong, where one is.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.fields.first().map(|problem| problem.field.as_str())
    }

    /// What travels in `google.rpc.ErrorInfo.metadata`.
    pub fn metadata(&self) -> impl Iterator<Item = (&str, &str)> {
        self.metadata
            .iter()
            .map(|(key, value)| (*key, value.as_str()))
    }

    /// When to try again, where that makes sense.
    #[must_use]
    pub fn retry_delay(&self) -> Option<Duration> {
        self.retry_after
    }

    fn details(&self) -> ErrorDetails {
        let metadata: HashMap<String, String> = self
            .metadata
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone()))
            .collect();
        let mut details =
            ErrorDetails::with_error_info(self.reason.as_str(), ERROR_DOMAIN, metadata);
        if let Some(delay) = self.retry_after {
            details.set_retry_info(Some(delay));
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
    use super::*;

    #[test]
    fn a_violation_names_its_field_and_reason_in_both_details() {
        let violation =
            Violation::new(ViolationReason::OutOfRange, "is 201, at most 200 are taken")
                .within("page_size");
        let status = Status::from(Problem::from(violation));
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(status.message(), "page_size is 201, at most 200 are taken");
        let details = status.get_error_details();
        let info = details.error_info().expect("error info");
        assert_eq!(
            (info.reason.as_str(), info.domain.as_str()),
            ("FIELD_OUT_OF_RANGE", "hansard")
        );
        let request = details.bad_request().expect("bad request");
        assert_eq!(request.field_violations.len(), 1);
        assert_eq!(request.field_violations[0].field, "page_size");
        assert_eq!(request.field_violations[0].reason, "FIELD_OUT_OF_RANGE");
        assert!(details.retry_info().is_none());
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
