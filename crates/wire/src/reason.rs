//! The stable reasons of failed calls, and the status code of each.

use domain::ViolationReason;
use tonic::Code;

/// Why a call failed. The names are stable: callers branch on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A field breaks a rule.
    Field(ViolationReason),
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
    /// Stored data cannot be decoded.
    DataCorrupt,
}

impl Reason {
    /// The reason in `google.rpc.ErrorInfo.reason`.
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
            Self::RewindBeyondHistory => "REWIND_BEYOND_HISTORY",
            Self::SummaryStale => "SUMMARY_STALE",
            Self::RunActive => "RUN_ACTIVE",
            Self::RunNotActive => "RUN_NOT_ACTIVE",
            Self::RunStopping => "RUN_STOPPING",
            Self::PartsSuperseded => "PARTS_SUPERSEDED",
            Self::OwnerMismatch => "OWNER_MISMATCH",
            Self::OwnerFixed => "OWNER_FIXED",
            Self::ForkPointNotFound => "FORK_POINT_NOT_FOUND",
            Self::ForkTooDeep => "FORK_TOO_DEEP",
            Self::HasForks => "HAS_FORKS",
            Self::IdempotencyKeyReused => "IDEMPOTENCY_KEY_REUSED",
            Self::IdempotencyKeyInFuture => "IDEMPOTENCY_KEY_IN_FUTURE",
            Self::PageTokenInvalid => "PAGE_TOKEN_INVALID",
            Self::PageTokenOfOtherQuery => "PAGE_TOKEN_OF_OTHER_QUERY",
            Self::PositionTokenMalformed => "POSITION_TOKEN_MALFORMED",
            Self::PositionTokenOfOtherRecord => "POSITION_TOKEN_OF_OTHER_RECORD",
            Self::PositionNotReached => "POSITION_NOT_REACHED",
            Self::RecordUnavailable => "RECORD_UNAVAILABLE",
            Self::RecordDiverged => "RECORD_DIVERGED",
            Self::ReadModelUnavailable => "READ_MODEL_UNAVAILABLE",
            Self::Draining => "DRAINING",
            Self::QuotaExceeded => "QUOTA_EXCEEDED",
            Self::Overloaded => "OVERLOADED",
            Self::BudgetTooSmall => "BUDGET_TOO_SMALL",
            Self::TemplateFailed => "TEMPLATE_FAILED",
            Self::DestinationNotAllowed => "DESTINATION_NOT_ALLOWED",
            Self::ModelServerNotAllowed => "MODEL_SERVER_NOT_ALLOWED",
            Self::ModelNotConfigured => "MODEL_NOT_CONFIGURED",
            Self::SearchQueryInvalid => "SEARCH_QUERY_INVALID",
            Self::SearchDisabled => "SEARCH_DISABLED",
            Self::SearchTimedOut => "SEARCH_TIMED_OUT",
            Self::DataCorrupt => "DATA_CORRUPT",
        }
    }

    /// The status code of the reason.
    #[must_use]
    pub fn code(self) -> Code {
        match self {
            Self::Field(_)
            | Self::IdempotencyKeyInFuture
            | Self::PageTokenInvalid
            | Self::PageTokenOfOtherQuery
            | Self::PositionTokenMalformed
            | Self::PositionTokenOfOtherRecord
            | Self::DestinationNotAllowed
            | Self::SearchQueryInvalid => Code::InvalidArgument,
            Self::Unauthenticated => Code::Unauthenticated,
            Self::MissingScope | Self::ModelServerNotAllowed | Self::SearchDisabled => Code::PermissionDenied,
            Self::AgentNotFound
            | Self::ConversationNotFound
            | Self::RegistryEntryNotFound
            | Self::ForkPointNotFound => Code::NotFound,
            Self::ConversationExists | Self::RegistryEntryExists => Code::AlreadyExists,
            Self::VersionConflict | Self::Contention | Self::PartsSuperseded => Code::Aborted,
            Self::ConversationArchived
            | Self::ConversationErased
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
