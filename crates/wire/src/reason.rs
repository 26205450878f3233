//! The stable reasons for which calls fail, and the status code of each.

use domain::ViolationReason;
use tonic::Code;

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
    /// A rewind to what has not happened yet.
    RewindBeyondHistory,
    /// A summary that reaches no further than an earlier one.
    SummaryStale,
    /// Another generation goes on in the conversation.
    RunActive,
    /// The run is not the conversation's active one.
    RunNotActive,
    /// The run was asked to stop: no more parts are taken but its end.
    RunStopping,
    /// Other parts of the run are there than the caller knows of.
    PartsSuperseded,
    /// The conversation belongs to somebody else than the caller believed.
    OwnerMismatch,
    /// A channel's conversation stays the channel's, and no other becomes one.
    OwnerFixed,
    /// There is no conversation to fork from, or it does not reach that version.
    ForkPointNotFound,
    /// Too many conversations would stand behind the fork.
    ForkTooDeep,
    /// Forks read through the conversation that was to be erased.
    HasForks,
    /// The key was used for another request.
    IdempotencyKeyReused,
    /// The key is a UUIDv7 of a time further ahead than clocks may be off.
    IdempotencyKeyInFuture,
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
    /// A quota of the tenant, agent, key, owner or address is used up.
    QuotaExceeded,
    /// A bound on what is served at once.
    Overloaded,
    /// The instructions, or the newest turn, do not fit the budget.
    BudgetTooSmall,
    /// A template of the context policy cannot be rendered.
    TemplateFailed,
    /// A URL of a server that the deployment does not allow to be called.
    DestinationNotAllowed,
    /// A model server that the deployment keeps for other tenants.
    ModelServerNotAllowed,
    /// The agent's settings name no model.
    ModelNotConfigured,
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
            Self::ReadModelUnavailable => "READ_MODEL_UNAVAILABLE",
            Self::Draining => "DRAINING",
            Self::QuotaExceeded => "QUOTA_EXCEEDED",
            Self::Overloaded => "OVERLOADED",
            Self::BudgetTooSmall => "BUDGET_TOO_SMALL",
            Self::TemplateFailed => "TEMPLATE_FAILED",
            Self::DestinationNotAllowed => "DESTINATION_NOT_ALLOWED",
            Self::ModelServerNotAllowed => "MODEL_SERVER_NOT_ALLOWED",
            Self::ModelNotConfigured => "MODEL_NOT_CONFIGURED",
            Self::DataCorrupt => "DATA_CORRUPT",
        }
    }

    /// The status code that the reason comes with.
    #[must_use]
    pub fn code(self) -> Code {
        match self {
            Self::Field(_)
            | Self::IdempotencyKeyInFuture
            | Self::PageTokenInvalid
            | Self::PageTokenOfOtherQuery
            | Self::PositionTokenMalformed
            | Self::PositionTokenOfOtherRecord
            | Self::DestinationNotAllowed => Code::InvalidArgument,
            Self::Unauthenticated => Code::Unauthenticated,
            Self::MissingScope | Self::ModelServerNotAllowed => Code::PermissionDenied,
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
            | Self::ReadModelUnavailable
            | Self::ModelNotConfigured
            | Self::Draining => Code::Unavailable,
            Self::QuotaExceeded | Self::Overloaded => Code::ResourceExhausted,
            Self::DataCorrupt => Code::DataLoss,
        }
    }
}
