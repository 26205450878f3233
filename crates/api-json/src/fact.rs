//! Events with their position, and their content.

use domain::RecordedEvent;
use serde::Serialize;
use utoipa::ToSchema;

use super::content::{PartBody, Verbatim};
use super::conversation::{ContextBody, ForkPointBody, OwnerBody};
use super::instant::rfc3339;

/// An event with its position.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventBody {
    /// Its version: the order of events in the conversation.
    #[schema(example = 3)]
    version: u64,
    /// Its id.
    event_id: String,
    /// Its commit. All events of a commit are recorded together.
    commit_id: String,
    /// When it was recorded; RFC 3339.
    recorded_at: String,
    /// When it happened, if the caller gave a time; RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    occurred_at: Option<String>,
    /// Its metadata, as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Verbatim>,
    /// The event.
    #[serde(flatten)]
    fact: FactBody,
}

impl From<&RecordedEvent> for EventBody {
    fn from(recorded: &RecordedEvent) -> Self {
        let event = &recorded.event;
        Self {
            version: recorded.version.0,
            event_id: event.id.to_string(),
            commit_id: recorded.commit.to_string(),
            recorded_at: rfc3339(recorded.recorded_at),
            occurred_at: event.occurred_at.map(rfc3339),
            metadata: event.metadata.clone().map(Verbatim),
            fact: (&event.fact).into(),
        }
    }
}

/// The content of an event, by its `type`.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "type")]
pub enum FactBody {
    /// A message.
    MessageAppended(MessageContentBody),
    /// The model called a tool.
    #[serde(rename_all = "camelCase")]
    ToolCalled {
        /// The call.
        call_id: String,
        /// The tool.
        tool_name: String,
        /// Its input.
        input: Verbatim,
        /// The model that made the call.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The result of a tool.
    #[serde(rename_all = "camelCase")]
    ToolReturned {
        /// The call.
        call_id: String,
        /// The tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_name: Option<String>,
        /// The output, as a document.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<Verbatim>,
        /// The output, as texts and files.
        #[serde(skip_serializing_if = "Option::is_none")]
        output_parts: Option<Vec<PartBody>>,
        /// Whether the tool failed.
        is_error: bool,
    },
    /// A note of the system.
    #[serde(rename_all = "camelCase")]
    SystemNoted {
        /// The topic.
        #[serde(skip_serializing_if = "Option::is_none")]
        topic: Option<String>,
        /// The note.
        text: String,
    },
    /// An error.
    #[serde(rename_all = "camelCase")]
    ErrorOccurred {
        /// The type of the error.
        error_type: String,
        /// The message of the error.
        message: String,
    },
    /// The conversation was created.
    #[serde(rename_all = "camelCase")]
    ConversationCreated {
        /// The owner.
        owner: OwnerBody,
        /// Its title.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Its metadata.
        #[serde(skip_serializing_if = "Option::is_none")]
        conversation_metadata: Option<Verbatim>,
        /// The client.
        #[serde(skip_serializing_if = "Option::is_none")]
        context: Option<ContextBody>,
        /// The parent, if it is a fork.
        #[serde(skip_serializing_if = "Option::is_none")]
        forked_from: Option<ForkPointBody>,
    },
    /// Title or metadata changed. Absent fields did not change; `null` removes the value.
    #[serde(rename_all = "camelCase")]
    ConversationUpdated {
        /// The title.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<Option<String>>,
        /// The metadata.
        // Any document, including `null`: a schema with both would match `null` twice.
        #[schema(value_type = serde_json::Value, required = false)]
        #[serde(skip_serializing_if = "Option::is_none")]
        conversation_metadata: Option<Option<Verbatim>>,
    },
    /// It was archived: it accepts no more events.
    ConversationArchived,
    /// It was restored.
    ConversationRestored,
    /// It was erased.
    ConversationErased,
    /// The earlier history was summarised.
    #[serde(rename_all = "camelCase")]
    HistorySummarised {
        /// The last version that the summary replaces.
        through: u64,
        /// The summary.
        text: String,
    },
    /// It was rewound: messages and contexts skip the versions after `to`, up to this event.
    #[serde(rename_all = "camelCase")]
    HistoryRewound {
        /// The last version that is still read.
        to: u64,
    },
    /// A document has a new value.
    #[serde(rename_all = "camelCase")]
    DocumentPut {
        /// The labels of its namespace.
        namespace: Vec<String>,
        /// Its key.
        key: String,
        /// Its value, as it was given.
        value: Verbatim,
        /// It is read for this many seconds after its record.
        #[serde(skip_serializing_if = "Option::is_none")]
        ttl_seconds: Option<u64>,
    },
    /// A document was deleted.
    #[serde(rename_all = "camelCase")]
    DocumentDeleted {
        /// The labels of its namespace.
        namespace: Vec<String>,
        /// Its key.
        key: String,
    },
    /// The owner changed.
    #[serde(rename_all = "camelCase")]
    OwnerChanged {
        /// The new owner.
        owner: OwnerBody,
        /// The previous owner.
        previous: OwnerBody,
    },
    /// A run started.
    #[serde(rename_all = "camelCase")]
    RunStarted {
        /// The run.
        run_id: String,
        /// The model.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// A stop of a run was requested.
    #[serde(rename_all = "camelCase")]
    RunStopRequested {
        /// The run.
        run_id: String,
    },
    /// A run finished.
    #[serde(rename_all = "camelCase")]
    RunFinished {
        /// The run.
        run_id: String,
        /// The outcome: `completed`, `stopped`, `failed` or `abandoned`.
        outcome: &'static str,
    },
}

/// The content of a message.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageContentBody {
    /// The role: `user`, `assistant`, `system` or `developer`.
    pub(crate) role: &'static str,
    /// The parts, in order.
    pub(crate) parts: Vec<PartBody>,
    /// The name of the speaker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) author: Option<String>,
    /// The model that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The provider's id of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) provider_response_id: Option<String>,
    /// Why the model stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finish_reason: Option<String>,
    /// The tokens of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<UsageBody>,
    /// `estimated`: `usage` is an estimate from bytes, because the provider reported more tokens than can be true. Absent: the provider
    /// reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "estimated")]
    pub(crate) usage_source: Option<&'static str>,
}

/// Tokens, as the provider counted them.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "names of counts say what is counted")]
pub struct UsageBody {
    /// Tokens read, including cached ones.
    pub(crate) input_tokens: u64,
    /// Tokens written, including reasoning.
    pub(crate) output_tokens: u64,
    /// Tokens read from the provider's cache.
    pub(crate) cached_tokens: u64,
    /// Tokens of reasoning.
    pub(crate) reasoning_tokens: u64,
}
