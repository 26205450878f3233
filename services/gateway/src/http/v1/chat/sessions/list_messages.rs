//! `GET /v1/chat/sessions/{id}/messages`: the messages of a session.

use axum::extract::State;
use runs::UiMessage;
use runs::ui_message::{UiPart, UiRole};
use runtime::http::{HttpProblem, Json, Path, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::http::v1::chat::send_turn::TurnUsageBody;
use api_json::instant::rfc3339;
use conversations::message_pages::{MessageDetails, Paging, read_page};
use conversations::open::find_chat;
use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::{CallerHeaders, CallerIds};
use http_listener::state::HttpState;

/// Which messages to return.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListMessagesQuery {
    /// Maximum number of messages; 0 or absent: 50. A turn is never split, so there may be more.
    #[param(maximum = 200)]
    limit: Option<u32>,
    /// `next_before` of the previous page; absent: the newest messages.
    before: Option<u64>,
}

/// Messages of a session.
#[derive(Debug, Serialize, ToSchema)]
pub struct MessagesBody {
    /// The messages, oldest first.
    messages: Vec<MessageBody>,
    /// `before` for the previous messages; absent: there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_before: Option<u64>,
}

/// A message, as its text.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct MessageBody {
    /// Its id.
    id: String,
    /// The role: `user` or `assistant`.
    role: &'static str,
    /// The text.
    content: String,
    /// The outcome of the run that answered: `completed`, `stopped`, `failed` or `abandoned`; absent in a user's
    /// message.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    /// Why it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
    /// When its first event happened, if the caller gave a time; otherwise when it was recorded; RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    /// The model of an answer, if the record has it; with several, the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// The tokens of all models' replies in an answer, if the record has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<TurnUsageBody>,
}

/// The messages of a session, as text.
///
/// Tool calls, thoughts and files are left out: `GET /api/chats/{id}` returns them.
#[utoipa::path(
    get,
    path = "/v1/chat/sessions/{id}/messages",
    tag = "chat",
    params(("id" = String, Path, description = "The session."), CallerHeaders, ListMessagesQuery),
    responses((status = 200, description = "The messages.", body = MessagesBody)),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn list_messages(
    State(state): State<HttpState>,
    frontend: Frontend,
    Path(id): Path<String>,
    Query(query): Query<ListMessagesQuery>,
) -> Result<Json<MessagesBody>, HttpProblem> {
    let caller = frontend.caller(&state, CallerIds::default()).await?;
    let paging = Paging::new(query.limit, query.before)?;
    let session = find_chat(&state, &caller, &id).await?;
    let page = read_page(&state, &session, paging).await?;
    let details = page.details();
    let messages = page.messages.into_iter().zip(details);
    Ok(Json(MessagesBody {
        messages: messages.map(|(message, details)| MessageBody::new(message, details)).collect(),
        next_before: page.next_before.map(|version| version.0),
    }))
}

impl MessageBody {
    fn new(message: UiMessage, details: MessageDetails) -> Self {
        let texts = message.parts.into_iter().filter_map(|part| match part {
            UiPart::Text { text, .. } => Some(text),
            UiPart::StepStart | UiPart::Reasoning { .. } | UiPart::File { .. } | UiPart::Tool(_) | UiPart::Data(_) => {
                None
            }
        });
        Self {
            id: message.id,
            role: match message.role {
                UiRole::User => "user",
                UiRole::Assistant => "assistant",
            },
            content: texts.collect::<Vec<_>>().join("\n"),
            outcome: message.metadata.map(|known| known.outcome.as_str()),
            error: message.metadata.and_then(|known| known.error_text),
            created_at: details.created_at.map(rfc3339),
            model: details.model.map(|model| model.as_str().to_owned()),
            usage: details.usage.as_ref().map(TurnUsageBody::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_its_texts() {
        let text = |text: &str| UiPart::Text { text: text.to_owned(), state: None };
        let message = UiMessage {
            id: "m".to_owned(),
            role: UiRole::Assistant,
            metadata: None,
            parts: vec![UiPart::StepStart, text("a"), UiPart::StepStart, text("b")],
        };
        let expected = MessageBody {
            id: "m".to_owned(),
            role: "assistant",
            content: "a\nb".to_owned(),
            outcome: None,
            error: None,
            created_at: None,
            model: None,
            usage: None,
        };
        let details = MessageDetails::default();
        assert_eq!(MessageBody::new(message, details), expected);
    }
}
