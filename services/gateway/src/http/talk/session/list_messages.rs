//! `GET /v1/chat/sessions/{id}/messages`: what was said in a session.

use axum::extract::State;
use runs::UiMessage;
use runs::ui_message::{UiPart, UiRole, outcome_name};
use runtime::http::{HttpProblem, Json, Path, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::http::chats::messages::{Paging, shown};
use crate::http::frontend::{CallerHeaders, Frontend, Named};
use crate::http::owned_chat::owned;
use crate::http::state::HttpState;

/// Which messages to show.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListMessagesQuery {
    /// Most messages; 0 and absent: 50. A turn comes whole, also where it has more.
    #[param(maximum = 200)]
    limit: Option<u32>,
    /// `next_before` of the page before; absent: the newest messages.
    before: Option<u64>,
}

/// Messages of a session.
#[derive(Debug, Serialize, ToSchema)]
pub struct MessagesBody {
    /// The messages, oldest first.
    messages: Vec<MessageBody>,
    /// Give it as `before` for the messages before these; absent: there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_before: Option<u64>,
}

/// A message, as its text.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct MessageBody {
    /// Its id.
    id: String,
    /// Who speaks: `user` or `assistant`.
    role: &'static str,
    /// What they say.
    content: String,
    /// How the run that answers ended: `completed`, `stopped`, `failed` or `abandoned`; absent of a user's.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    /// Why it failed, where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
}

/// What was said in a session, as text.
///
/// Calls of tools, thoughts and files are left out: `GET /api/chats/{id}` has them.
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
    let caller = frontend.caller(&state, Named::default()).await?;
    let paging = Paging::of(query.limit, query.before)?;
    let session = owned(&state, &caller, &id).await?;
    let page = shown(&state, &session, paging).await?;
    Ok(Json(MessagesBody {
        messages: page.messages.into_iter().map(MessageBody::from).collect(),
        next_before: page.next_before.map(|version| version.0),
    }))
}

impl From<UiMessage> for MessageBody {
    fn from(message: UiMessage) -> Self {
        let texts = message.parts.into_iter().filter_map(|part| match part {
            UiPart::Text { text, .. } => Some(text),
            UiPart::StepStart
            | UiPart::Reasoning { .. }
            | UiPart::File { .. }
            | UiPart::Tool(_) => None,
        });
        Self {
            id: message.id,
            role: match message.role {
                UiRole::User => "user",
                UiRole::Assistant => "assistant",
            },
            content: texts.collect::<Vec<_>>().join("\n"),
            outcome: message.metadata.map(|known| outcome_name(known.outcome)),
            error: message.metadata.and_then(|known| known.error_text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_its_texts() {
        let text = |text: &str| UiPart::Text {
            text: text.to_owned(),
            state: None,
        };
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
        };
        assert_eq!(MessageBody::from(message), expected);
    }
}
