//! The stable reasons of failed calls, and the status code of each.

use domain::ViolationReason;
use strum::{EnumString, IntoStaticStr};
use tonic::Code;

/// Why a call failed. The names are stable: callers branch on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum Reason {
    /// A field breaks a rule.
    #[strum(disabled)]
    Field(ViolationReason),
    /// A service answered with a status code alone, or with a reason of a later version.
    #[strum(disabled)]
    Other(Code),
    /// The bearer token is missing, unknown or revoked.
    Unauthenticated,
    /// The token does not have the scope that the call needs.
    MissingScope,
    /// The agent does not exist, or belongs to another tenant.
    AgentNotFound,
    /// The conversation does not exist, or belongs to another owner, agent or tenant.
    ConversationNotFound,
    /// The registry has no such tenant, agent, key or token, or it belongs to another tenant.
    RegistryEntryNotFound,
    /// A tenant or agent with this id exists.
    RegistryEntryExists,
    /// A conversation with this id exists.
    ConversationExists,
    /// The conversation has another version than the caller expected.
    VersionConflict,
    /// Concurrent commits were appended first at every attempt.
    Contention,
    /// The conversation is closed for events.
    ConversationArchived,
    /// The conversation is erased.
    ConversationErased,
    /// The result has no open call.
    ToolCallNotOpen,
    /// An open call has the same id.
    ToolCallAlreadyOpen,
    /// The result has another tool name than its call.
    ToolMismatch,
    /// The conversation has the maximum of open calls.
    TooManyOpenCalls,
    /// The summary covers versions that do not exist.
    SummaryBeyondHistory,
    /// The rewind returns to a version that does not exist.
    RewindBeyondHistory,
    /// The summary covers no more than an earlier one.
    SummaryStale,
    /// Another run is active in the conversation.
    RunActive,
    /// The run is not the active run of the conversation.
    RunNotActive,
    /// A stop of the run was requested: only its end is accepted.
    RunStopping,
    /// The run has other parts than the caller expected.
    PartsSuperseded,
    /// The conversation has another owner than the caller expected.
    OwnerMismatch,
    /// The owner of a document or of a channel's conversation cannot change, and a channel cannot become an owner.
    OwnerFixed,
    /// The conversation to fork from does not exist, or does not have that version.
    ForkPointNotFound,
    /// The fork would have too many ancestors.
    ForkTooDeep,
    /// Forks read through the conversation that should be erased.
    HasForks,
    /// Another request used the same idempotency key.
    IdempotencyKeyReused,
    /// The idempotency key is a UUIDv7 of a time in the future, beyond the allowed clock difference.
    IdempotencyKeyInFuture,
    /// The page token is invalid.
    PageTokenInvalid,
    /// The page token belongs to another query.
    PageTokenOfOtherQuery,
    /// The position token is invalid.
    PositionTokenMalformed,
    /// The position token belongs to another record.
    PositionTokenOfOtherRecord,
    /// The position was not reached in time.
    PositionNotReached,
    /// The record is unavailable.
    RecordUnavailable,
    /// The gateway has no writer that accepts its token.
    WriterUnavailable,
    /// The rows belong to another record, or to commits that the record has lost: an operator must decide.
    RecordDiverged,
    /// The read model is unavailable.
    ReadModelUnavailable,
    /// The service is shutting down; another instance serves the retry.
    Draining,
    /// A quota of the tenant, agent, key, owner or address is exceeded.
    QuotaExceeded,
    /// The service has the maximum of concurrent work.
    Overloaded,
    /// The instructions or the newest turn do not fit into the budget.
    BudgetTooSmall,
    /// A template of the context policy cannot be rendered.
    TemplateFailed,
    /// The deployment does not allow calls of the URL's server.
    DestinationNotAllowed,
    /// The deployment reserves the model server for other tenants.
    ModelServerNotAllowed,
    /// The agent's settings have no model.
    ModelNotConfigured,
    /// The search query is invalid.
    SearchQueryInvalid,
    /// The conversations are not searched, by the settings of the agent or the tenant.
    SearchDisabled,
    /// The search took too long.
    SearchTimedOut,
    /// A turn has neither a message nor a result of an open call.
    NothingToAnswer,
    /// The caller may not decide about calls of the agent.
    ApprovalNotAllowed,
    /// Only the tool's webhook may answer the call.
    ToolAnsweredByWebhook,
    /// The agent does not allow messages of this role to public callers.
    RoleNotAllowed,
    /// The agent does not accept the file of public callers.
    AttachmentNotAccepted,
    /// The conversation has no such message, or it is too old to be found.
    MessageNotFound,
    /// Stored data cannot be decoded.
    DataCorrupt,
}

impl Reason {
    /// The reason with this name, if this version knows it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let of_field = || name.parse().map(Self::Field);
        name.parse().or_else(|_| of_field()).ok()
    }

    /// The name in `google.rpc.ErrorInfo.reason`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        if let Self::Field(reason) = self {
            return reason.as_str();
        }
        if let Self::Other(code) = self {
            return CodeOnly::of(code).name;
        }
        self.into()
    }

    /// The status code of the reason.
    #[must_use]
    pub fn code(self) -> Code {
        match self {
            Self::Other(code) => code,
            Self::Field(_)
            | Self::IdempotencyKeyInFuture
            | Self::PageTokenInvalid
            | Self::PageTokenOfOtherQuery
            | Self::PositionTokenMalformed
            | Self::PositionTokenOfOtherRecord
            | Self::DestinationNotAllowed
            | Self::AttachmentNotAccepted
            | Self::SearchQueryInvalid => Code::InvalidArgument,
            Self::Unauthenticated => Code::Unauthenticated,
            Self::MissingScope
            | Self::ModelServerNotAllowed
            | Self::SearchDisabled
            | Self::ApprovalNotAllowed
            | Self::ToolAnsweredByWebhook
            | Self::RoleNotAllowed => Code::PermissionDenied,
            Self::AgentNotFound
            | Self::ConversationNotFound
            | Self::RegistryEntryNotFound
            | Self::MessageNotFound
            | Self::ForkPointNotFound => Code::NotFound,
            Self::ConversationExists | Self::RegistryEntryExists => Code::AlreadyExists,
            Self::VersionConflict | Self::Contention | Self::PartsSuperseded => Code::Aborted,
            Self::ConversationArchived
            | Self::ConversationErased
            | Self::NothingToAnswer
            | Self::RunActive
            | Self::RunNotActive
            | Self::RunStopping
            | Self::OwnerMismatch
            | Self::OwnerFixed
            | Self::ForkTooDeep
            | Self::HasForks
            | Self::ToolCallNotOpen
            | Self::ToolCallAlreadyOpen
            | Self::ToolMismatch
            | Self::TooManyOpenCalls
            | Self::SummaryBeyondHistory
            | Self::SummaryStale
            | Self::RewindBeyondHistory
            | Self::IdempotencyKeyReused
            | Self::BudgetTooSmall
            | Self::TemplateFailed => Code::FailedPrecondition,
            Self::PositionNotReached
            | Self::RecordUnavailable
            | Self::WriterUnavailable
            | Self::RecordDiverged
            | Self::ReadModelUnavailable
            | Self::ModelNotConfigured
            | Self::SearchTimedOut
            | Self::Draining => Code::Unavailable,
            Self::QuotaExceeded | Self::Overloaded => Code::ResourceExhausted,
            Self::DataCorrupt => Code::DataLoss,
        }
    }
}

/// A failure that only a status code explains.
pub(crate) struct CodeOnly {
    pub(crate) code: Code,
    pub(crate) name: &'static str,
    /// What the caller can do. The message of the service could contain anything.
    pub(crate) message: &'static str,
}

impl CodeOnly {
    pub(crate) fn of(code: Code) -> Self {
        let (name, message) = match code {
            Code::Unavailable => ("UNAVAILABLE", "a service does not answer: try again"),
            Code::DeadlineExceeded => ("DEADLINE_EXCEEDED", "a service did not answer in time: try again"),
            Code::ResourceExhausted => (Reason::Overloaded.as_str(), "a service is at its bound: try again later"),
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
                let message = "the server failed to answer: try again, or report the request id";
                return Self { code: Code::Internal, name: "INTERNAL", message };
            }
        };
        Self { code, name, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed() {
        for reason in [Reason::QuotaExceeded, Reason::HasForks, Reason::Field(ViolationReason::TooLong)] {
            assert_eq!(Reason::parse(reason.as_str()), Some(reason));
        }
        for unknown in ["", "FIELD", "OTHER", "UNAVAILABLE", "has_forks"] {
            assert_eq!(Reason::parse(unknown), None, "{unknown}");
        }
    }
}
