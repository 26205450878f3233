//! The conversation and the message of tools, with the names of the tools' contract.

use domain::event::{MessageAppended, Role};
use domain::{Conversation, Fact, Owner, RecordedEvent};
use rmcp::schemars::JsonSchema;
use serde::Serialize;

use super::time::iso8601;
use api_json::content::texts;

/// A conversation without its messages.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ConversationObject {
    /// Its id. Pass it to the other tools as `conversation_id`.
    pub(super) id: String,
    /// The user who owns it. Null: a session or a channel owns it.
    pub(super) user_id: Option<String>,
    /// Its title.
    pub(super) title: Option<String>,
    /// When it was created; ISO 8601.
    pub(super) created_at: String,
    /// The time of its last event; ISO 8601. Listings are sorted by it.
    pub(super) updated_at: String,
}

/// A message.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct MessageObject {
    /// Its id.
    pub(super) id: String,
    /// The conversation.
    pub(super) conversation_id: String,
    /// Who wrote it: user or assistant.
    pub(super) role: &'static str,
    /// Its text.
    pub(super) content: String,
    /// Its metadata: the text of a JSON object.
    pub(super) metadata: Option<String>,
    /// When it was recorded; ISO 8601.
    pub(super) created_at: String,
}

impl From<&Conversation> for ConversationObject {
    fn from(conversation: &Conversation) -> Self {
        let head = &conversation.head;
        Self {
            id: conversation.id.as_str().to_owned(),
            user_id: head.owner.as_ref().and_then(user_id),
            title: conversation.title.clone(),
            created_at: iso8601(conversation.created_at),
            updated_at: iso8601(head.last_event_at),
        }
    }
}

fn user_id(owner: &Owner) -> Option<String> {
    match owner {
        Owner::User(user) => Some(user.as_str().to_owned()),
        Owner::Session(_) | Owner::Channel(_) => None,
    }
}

impl MessageObject {
    /// The message of an event of a conversation; `None`: the event is no message of a user or an assistant.
    pub(super) fn from_event(conversation: &str, recorded: &RecordedEvent) -> Option<Self> {
        let Fact::MessageAppended(message) = &recorded.event.fact else {
            return None;
        };
        let metadata = recorded.event.metadata.as_ref();
        Some(Self {
            id: recorded.event.id.to_string(),
            conversation_id: conversation.to_owned(),
            role: role(message)?,
            content: texts(&message.parts).collect(),
            metadata: metadata.map(|metadata| metadata.as_str().to_owned()),
            created_at: iso8601(recorded.recorded_at),
        })
    }
}

fn role(message: &MessageAppended) -> Option<&'static str> {
    match message.role {
        Role::User => Some("user"),
        Role::Assistant => Some("assistant"),
        Role::System | Role::Developer => None,
    }
}
