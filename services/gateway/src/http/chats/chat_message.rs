//! A message of a page with its time, model and tokens.

use runs::UiMessage;
use serde::Serialize;
use utoipa::ToSchema;

use api_json::fact::UsageBody;
use api_json::instant::rfc3339;
use conversations::message_pages::{MessageDetails, MessagesPage};

/// A message in the AI SDK's form, and what the record has about it. The AI SDK ignores the additional members.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatMessageBody {
    /// `{id, role, metadata, parts}`. The metadata of an answer is `{outcome, errorText}`: how its last run ended. An
    /// answer without parts is the outcome of a run that produced nothing.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    message: UiMessage,
    /// When its first event happened, if the caller gave a time; otherwise when it was recorded; RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2026-11-22T05:00:00.25Z")]
    created_at: Option<String>,
    /// The model of an answer, if the record has it; with several, the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "gpt-4.1-mini")]
    model: Option<String>,
    /// The tokens of all models' replies in an answer, if the record has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageBody>,
}

impl ChatMessageBody {
    /// The messages of a page, with their details.
    #[must_use]
    pub fn of_page(page: MessagesPage) -> Vec<Self> {
        let details = page.details();
        let messages = page.messages.into_iter().zip(details);
        messages.map(|(message, details)| Self::new(message, details)).collect()
    }

    fn new(message: UiMessage, details: MessageDetails) -> Self {
        Self {
            message,
            created_at: details.created_at.map(rfc3339),
            model: details.model.map(|model| model.as_str().to_owned()),
            usage: details.usage.map(UsageBody::from),
        }
    }
}
