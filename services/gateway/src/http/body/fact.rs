//! What an event says.

use serde::Serialize;
use utoipa::ToSchema;

use super::content::PartBody;
use super::conversation::{ContextBody, ForkPointBody, OwnerBody};
use super::verbatim::Verbatim;

/// What an event says, by its `type`.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "type")]
pub enum FactBody {
    /// Someone said something.
    #[serde(rename_all = "camelCase")]
    MessageAppended {
        /// Who: `user`, `assistant`, `system` or `developer`.
        role: &'static str,
        /// What, in order.
        parts: Vec<PartBody>,
        /// The speaker's name.
        #[serde(skip_serializing_if = "Option::is_none")]
        author: Option<String>,
        /// The model that wrote it.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The provider's id of the response.
        #[serde(skip_serializing_if = "Option::is_none")]
        provider_response_id: Option<String>,
        /// Why the model stopped.
        #[serde(skip_serializing_if = "Option::is_none")]
        finish_reason: Option<String>,
        /// What the response cost.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<UsageBody>,
    },
    /// The model called a tool.
    #[serde(rename_all = "camelCase")]
    ToolCalled {
        /// The call.
        call_id: String,
        /// The tool.
        tool_name: String,
        /// Its input.
        input: Verbatim,
        /// The model that called.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// A tool answered.
    #[serde(rename_all = "camelCase")]
    ToolReturned {
        /// The call that it answers.
        call_id: String,
        /// The tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_name: Option<String>,
        /// What came back, as a document.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<Verbatim>,
        /// What came back, as texts and files.
        #[serde(skip_serializing_if = "Option::is_none")]
        output_parts: Option<Vec<PartBody>>,
        /// Whether the tool failed.
        is_error: bool,
    },
    /// The system took note of something.
    #[serde(rename_all = "camelCase")]
    SystemNoted {
        /// What it is about.
        #[serde(skip_serializing_if = "Option::is_none")]
        topic: Option<String>,
        /// The note.
        text: String,
    },
    /// Something failed.
    #[serde(rename_all = "camelCase")]
    ErrorOccurred {
        /// What kind of failure.
        error_type: String,
        /// What was said of it.
        message: String,
    },
    /// The conversation began.
    #[serde(rename_all = "camelCase")]
    ConversationCreated {
        /// Who it belonged to.
        owner: OwnerBody,
        /// Its title.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Its metadata.
        #[serde(skip_serializing_if = "Option::is_none")]
        conversation_metadata: Option<Verbatim>,
        /// Where the client was.
        #[serde(skip_serializing_if = "Option::is_none")]
        context: Option<ContextBody>,
        /// What it goes on from, where it is a fork.
        #[serde(skip_serializing_if = "Option::is_none")]
        forked_from: Option<ForkPointBody>,
    },
    /// Title or metadata changed; what is absent did not, and `null` is none.
    #[serde(rename_all = "camelCase")]
    ConversationUpdated {
        /// The title.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<Option<String>>,
        /// The metadata.
        // Any document, `null` among them: described as one of both, `null` would be both.
        #[schema(value_type = serde_json::Value, required = false)]
        #[serde(skip_serializing_if = "Option::is_none")]
        conversation_metadata: Option<Option<Verbatim>>,
    },
    /// It was closed for events.
    ConversationArchived,
    /// It was opened again.
    ConversationRestored,
    /// It was erased.
    ConversationErased,
    /// What happened so far was told in short.
    #[serde(rename_all = "camelCase")]
    HistorySummarised {
        /// The last version that the summary stands for.
        through: u64,
        /// The summary.
        text: String,
    },
    /// It went on from an earlier version: messages and contexts pass over what lies between.
    #[serde(rename_all = "camelCase")]
    HistoryRewound {
        /// The last version that is still read.
        to: u64,
    },
    /// It belongs to someone else now.
    #[serde(rename_all = "camelCase")]
    OwnerChanged {
        /// Who it belongs to.
        owner: OwnerBody,
        /// Who it belonged to.
        previous: OwnerBody,
    },
    /// A model began to answer.
    #[serde(rename_all = "camelCase")]
    RunStarted {
        /// The run.
        run_id: String,
        /// The model.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// A run was asked to stop.
    #[serde(rename_all = "camelCase")]
    RunStopRequested {
        /// The run.
        run_id: String,
    },
    /// A run is over.
    #[serde(rename_all = "camelCase")]
    RunFinished {
        /// The run.
        run_id: String,
        /// How it ended: `completed`, `stopped`, `failed` or `abandoned`.
        outcome: &'static str,
    },
}

/// Tokens, as the provider counted them.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_field_names,
    reason = "names of counts say what is counted"
)]
pub struct UsageBody {
    /// Read, cached ones among them.
    pub(super) input_tokens: u64,
    /// Written, reasoning ones among them.
    pub(super) output_tokens: u64,
    /// Read from the provider's cache.
    pub(super) cached_tokens: u64,
    /// Thought.
    pub(super) reasoning_tokens: u64,
}
