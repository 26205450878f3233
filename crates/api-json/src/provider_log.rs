//! JSON of logged calls of model servers.

use domain::{AgentId, CallPurpose, ConversationId, LoggedBody, ModelCall, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use super::fact::UsageBody;
use super::instant::rfc3339;

/// A request to a model server, and its reply.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderLogBody {
    /// Its id.
    id: String,
    /// The agent.
    #[schema(example = "support")]
    agent_id: String,
    /// The conversation.
    conversation_id: String,
    /// The run.
    run_id: String,
    /// The purpose.
    purpose: PurposeName,
    /// The number of the attempt, counted from 1.
    attempt: u32,
    /// The model server, by its name in the gateway's configuration.
    model_server: String,
    /// The model.
    model: String,
    /// When it was sent.
    #[schema(format = DateTime)]
    started_at: String,
    /// Time to the first piece of the reply, in ms; absent: no reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_piece_ms: Option<u64>,
    /// Time to the end, in ms.
    took_ms: u64,
    /// The HTTP status; absent: no reply, or a built-in model.
    #[serde(skip_serializing_if = "Option::is_none")]
    http_status: Option<u16>,
    /// How it ended: `finished`, `dropped` (the reader stopped), or the failure's name.
    #[schema(example = "finished")]
    outcome: String,
    /// Why the model stopped, as reported by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<String>,
    /// Tokens, as reported by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageBody>,
    /// Bytes of the request's body.
    request_bytes: u64,
    /// Bytes of the reply.
    reply_bytes: u64,
    /// When the log is deleted.
    #[schema(format = DateTime)]
    kept_until: String,
}

/// The purpose of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum PurposeName {
    /// An answer in the conversation.
    Answer,
    /// A summary of it.
    Summary,
    /// Its title.
    Title,
}

/// A body without the secrets that the agent's rules match.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoggedBodyBody {
    /// Its text.
    text: String,
    /// Whether the body was cut.
    is_cut: bool,
}

impl ProviderLogBody {
    /// A call of a model in a conversation of an agent.
    #[must_use]
    pub fn new(agent: &AgentId, conversation: &ConversationId, call: &ModelCall, kept_until: Timestamp) -> Self {
        Self {
            id: call.id.to_string(),
            agent_id: agent.as_str().to_owned(),
            conversation_id: conversation.as_str().to_owned(),
            run_id: call.run.to_string(),
            purpose: call.purpose.into(),
            attempt: call.attempt,
            model_server: call.server.as_str().to_owned(),
            model: call.model.as_str().to_owned(),
            started_at: rfc3339(call.started_at),
            first_piece_ms: call.first_piece_ms,
            took_ms: call.took_ms,
            http_status: call.http_status,
            outcome: call.outcome.as_str().to_owned(),
            finish_reason: call.finish_reason.as_ref().map(|reason| reason.as_str().to_owned()),
            usage: call.usage.map(UsageBody::from),
            request_bytes: call.request_bytes,
            reply_bytes: call.reply_bytes,
            kept_until: rfc3339(kept_until),
        }
    }
}

impl From<CallPurpose> for PurposeName {
    fn from(purpose: CallPurpose) -> Self {
        match purpose {
            CallPurpose::Answer => Self::Answer,
            CallPurpose::Summary => Self::Summary,
            CallPurpose::Title => Self::Title,
        }
    }
}

impl From<LoggedBody> for LoggedBodyBody {
    fn from(body: LoggedBody) -> Self {
        Self { text: body.text, is_cut: body.is_cut }
    }
}
