//! A response as clients get it.

use domain::Fact;
use runs::Outcome;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::parameters::Parameters;
use crate::items::stored_item::StoredItem;
use domain::event::Usage;

/// The status of a response without an answer.
const FAILED: &str = "failed";

/// A response.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ResponseObject {
    /// Its id.
    #[schema(example = "resp_0198c1a27c1e7b5e9d0a1f6f0c9b2a11000000000004_conv_channel_0198c1a2")]
    pub id: String,
    /// Always `response`.
    object: &'static str,
    /// When it was requested, in seconds since 1970.
    created_at: i64,
    /// `in_progress`, `completed`, `incomplete`, `failed` or `cancelled`.
    status: &'static str,
    /// Why it failed.
    error: Option<ResponseErrorObject>,
    /// Why it is incomplete.
    incomplete_details: Option<IncompleteDetails>,
    /// The items that the model wrote.
    #[schema(value_type = Vec<Object>)]
    output: Vec<Box<RawValue>>,
    /// The conversation that the request named.
    conversation: Option<ConversationReference>,
    /// The tokens, if the model server reports them.
    usage: Option<ResponseUsage>,
    /// What the response repeats of its request.
    #[serde(flatten)]
    parameters: Parameters,
}

/// Why a response failed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ResponseErrorObject {
    /// Always `server_error`.
    code: &'static str,
    /// What failed. Never the text of the model server.
    message: String,
}

/// Why a response is incomplete.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct IncompleteDetails {
    /// `max_output_tokens` or `content_filter`.
    reason: &'static str,
}

/// A conversation.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ConversationReference {
    /// Its id.
    id: String,
}

/// Tokens.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ResponseUsage {
    input_tokens: u64,
    input_tokens_details: InputTokens,
    output_tokens: u64,
    output_tokens_details: OutputTokens,
    total_tokens: u64,
}

/// Tokens that the model read.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct InputTokens {
    cached_tokens: u64,
    cache_write_tokens: u64,
}

/// Tokens that the model wrote.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OutputTokens {
    reasoning_tokens: u64,
}

/// What identifies a response.
#[derive(Debug, Clone)]
pub struct ResponseHead {
    /// Its id.
    pub id: String,
    /// When it was requested, in seconds since 1970.
    pub created_at: i64,
    /// The conversation that the request named.
    pub conversation: Option<String>,
    /// What the response repeats of its request.
    pub parameters: Parameters,
}

impl ResponseObject {
    /// A response whose model has not finished.
    #[must_use]
    pub fn in_progress(head: ResponseHead) -> Self {
        Self {
            id: head.id,
            object: "response",
            created_at: head.created_at,
            status: "in_progress",
            error: None,
            incomplete_details: None,
            output: Vec::new(),
            conversation: head.conversation.map(|id| ConversationReference { id }),
            usage: None,
            parameters: head.parameters,
        }
    }

    /// The response after its end.
    #[must_use]
    pub fn ended(self, outcome: &Outcome, facts: &[Fact], output: Vec<StoredItem>) -> Self {
        let incomplete = |reason| ("incomplete", Some(IncompleteDetails { reason }));
        let (status, incomplete_details) = match outcome {
            Outcome::Completed | Outcome::WaitsForCalls => ("completed", None),
            Outcome::CutByTokenLimit => incomplete("max_output_tokens"),
            Outcome::Refused => incomplete("content_filter"),
            Outcome::Stopped => ("cancelled", None),
            Outcome::Failed(_) | Outcome::Abandoned | Outcome::Interrupted(_) => (FAILED, None),
        };
        Self {
            status,
            error: (status == FAILED).then(|| failure(outcome)),
            incomplete_details,
            output: output.into_iter().map(|item| item.json).collect(),
            usage: usage(facts),
            ..self
        }
    }

    /// The type of the last event of its stream.
    #[must_use]
    pub fn last_event(&self) -> &'static str {
        match self.status {
            "completed" => "response.completed",
            FAILED => "response.failed",
            _ => "response.incomplete",
        }
    }
}

fn failure(outcome: &Outcome) -> ResponseErrorObject {
    let message = if let Outcome::Failed(Some(error)) = outcome {
        format!("{}: {}", error.error_type.as_str(), error.message)
    } else {
        "the answer ended early: try again".to_owned()
    };
    ResponseErrorObject { code: "server_error", message }
}

fn usage(facts: &[Fact]) -> Option<ResponseUsage> {
    let sum = Usage::reported(facts)?;
    Some(ResponseUsage {
        input_tokens: sum.input_tokens,
        input_tokens_details: InputTokens { cached_tokens: sum.cached_tokens, cache_write_tokens: 0 },
        output_tokens: sum.output_tokens,
        output_tokens_details: OutputTokens { reasoning_tokens: sum.reasoning_tokens },
        total_tokens: sum.input_tokens.saturating_add(sum.output_tokens),
    })
}
