//! JSON of a loaded history.

use domain::event::MessageAppended;
use keyed_history::MessagesMax;
use runtime::http::HttpProblem;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::named_history::NamedHistory;
use api_json::fact::MessageContentBody;
use conversations::keyed_histories::{MESSAGES, Warning, load};
use conversations::positions;
use conversations::request::BoundedNumber;
use http_listener::state::HttpState;

/// The number of messages of an answer.
const LIMIT: BoundedNumber = BoundedNumber { field: "limit", ..MESSAGES };

/// How much of a history to load.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LoadQuery {
    /// Most messages in the answer; 0 or absent: 50.
    #[param(maximum = 1000)]
    limit: Option<u32>,
}

/// A history.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryBody {
    /// The key.
    #[schema(example = "telegram:42")]
    key: String,
    /// The conversation with the history, also if nothing is recorded yet. Absent: it is unknown, see `warnings`.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_id: Option<String>,
    /// The owner of the conversation; equal for all agents and namespaces of the tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    channel_id: Option<String>,
    /// The conversation's version. 0: nothing is stored, or nothing could be read.
    version: u64,
    /// The given instructions, the stored messages of users and assistants, and the given messages that are not stored, oldest
    /// first; only the newest if there are too many.
    messages: Vec<HistoryMessageBody>,
    /// Whether older messages were left out because of `limit`.
    truncated: bool,
    /// Why the stored messages are missing. Empty: there are no warnings.
    warnings: Vec<WarningBody>,
}

/// A message of a history.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryMessageBody {
    /// The message.
    #[serde(flatten)]
    message: MessageContentBody,
    /// The provider of the model. Reasoning and signatures are sent back only to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
}

/// Why a history is incomplete, or why messages were not recorded.
#[derive(Debug, Serialize, ToSchema)]
pub struct WarningBody {
    /// The stable name.
    #[schema(example = "HISTORY_UNAVAILABLE")]
    code: &'static str,
    /// The meaning and the remedy, for people.
    message: &'static str,
}

impl LoadQuery {
    /// Loads the history, merged with the caller's messages.
    ///
    /// # Errors
    /// 400: `limit` is out of range.
    pub(super) async fn load(
        &self,
        state: &HttpState,
        history: NamedHistory,
        current: &[MessageAppended],
    ) -> Result<HistoryBody, HttpProblem> {
        let count = LIMIT.take(self.limit.unwrap_or_default())?;
        let limit = MessagesMax::clamped(usize::try_from(count).unwrap_or(usize::MAX));
        let loaded = load(&state.gateway, history.location(), current, limit).await;
        if let (Some(position), Ok(location)) = (loaded.position, history.location()) {
            positions::record_read(&state.gateway, &location.target.key, position).await?;
        }
        let (conversation_id, channel_id) = history.ids();
        let messages = loaded.merged.messages.iter();
        Ok(HistoryBody {
            key: history.key.as_str().to_owned(),
            conversation_id,
            channel_id,
            version: loaded.version(),
            messages: messages.map(HistoryMessageBody::from).collect(),
            truncated: loaded.merged.trimmed > 0,
            warnings: warning_bodies(loaded.warning),
        })
    }
}

/// Warnings for answers.
pub(super) fn warning_bodies(warning: Option<Warning>) -> Vec<WarningBody> {
    warning.into_iter().map(|warning| WarningBody { code: warning.code(), message: warning.message() }).collect()
}

impl From<&MessageAppended> for HistoryMessageBody {
    fn from(message: &MessageAppended) -> Self {
        let provider = message.provider.as_ref();
        Self { message: message.into(), provider: provider.map(|provider| provider.as_str().to_owned()) }
    }
}
