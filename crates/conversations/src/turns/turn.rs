//! A turn: what a caller sends, with the caller's names of it.

use domain::event::{HistoryRewound, MessageAppended, Role, ToolReturned};
use domain::{Annotation, CallId, CommitId, Fact, JsonText, NewEvent, Part, RecordedEvent, Version};
use runs::denial::denial_of;
use serde::{Deserialize, Serialize};

use crate::open::OwnedChat;
use crate::quotas::account::RequestSource;

/// What is recorded and answered.
#[derive(Debug, Default)]
pub struct Turn {
    pub(super) facts: Vec<Fact>,
    /// The caller's names of the facts, in order.
    pub(super) fields: Vec<String>,
    /// Open calls that a person approved. Those with a webhook run before the model is called.
    pub approved: Vec<CallId>,
    /// Identifies the turn in all of its retries.
    pub key: Option<CommitId>,
    /// The version that the chat must have; `None`: any.
    pub expected_version: Option<Version>,
    /// What the model reads instead of the chat; `None`: the chat.
    pub history: Option<Vec<Fact>>,
    /// The key and the address that usage is counted for.
    pub via: RequestSource,
    /// The client's own id of the message, stored with it.
    pub client_message_id: Option<String>,
}

/// Metadata of a message with an id of the client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientMetadata {
    client_message_id: String,
}

impl Turn {
    /// Adds a fact; `field` is the caller's name for it.
    pub fn add_fact(&mut self, field: impl Into<String>, fact: Fact) {
        self.fields.push(field.into());
        self.facts.push(fact);
    }

    /// Adds a message of the user.
    pub fn add_user_message(&mut self, field: impl Into<String>, parts: Vec<Part>) {
        self.add_message(field, MessageAppended::new(Role::User, parts));
    }

    /// Adds a message.
    pub fn add_message(&mut self, field: impl Into<String>, message: MessageAppended) {
        self.add_fact(field, Fact::MessageAppended(message));
    }

    /// Whether there is nothing to record and nothing to run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty() && self.approved.is_empty()
    }

    /// Rewinds to a version: later events follow it.
    pub fn rewind(&mut self, field: impl Into<String>, to: Version) {
        self.add_fact(field, Fact::from(HistoryRewound { to }));
    }

    /// Whether the answer is a new message: it follows a user's message. Rewinds go back to one.
    pub(super) fn answers_a_message(&self) -> bool {
        matches!(self.facts.last(), Some(Fact::MessageAppended(_) | Fact::Annotation(Annotation::HistoryRewound(_))))
    }

    /// Whether it has approvals or refusals of calls.
    #[must_use]
    pub fn decides_on_calls(&self) -> bool {
        let is_denial = |(_, result): (&str, &ToolReturned)| denial_of(result).is_some();
        !self.approved.is_empty() || self.results().any(is_denial)
    }

    /// The messages, with the caller's names of them.
    pub fn messages(&self) -> impl Iterator<Item = (&str, &MessageAppended)> {
        let fields = self.fields.iter().map(String::as_str);
        fields.zip(&self.facts).filter_map(|(field, fact)| {
            if let Fact::MessageAppended(message) = fact {
                return Some((field, message));
            }
            None
        })
    }

    /// The results of calls, with the caller's names of them.
    pub fn results(&self) -> impl Iterator<Item = (&str, &ToolReturned)> {
        let fields = self.fields.iter().map(String::as_str);
        fields.zip(&self.facts).filter_map(|(field, fact)| {
            if let Fact::ToolReturned(returned) = fact {
                return Some((field, returned));
            }
            None
        })
    }

    /// The events that record facts.
    pub(super) fn events(facts: Vec<Fact>, client_message_id: Option<String>) -> Vec<NewEvent> {
        let metadata = client_message_id.and_then(client_metadata);
        let event = |fact| {
            let is_message = matches!(fact, Fact::MessageAppended(_));
            NewEvent { metadata: metadata.clone().filter(|_| is_message), ..NewEvent::from(fact) }
        };
        facts.into_iter().map(event).collect()
    }
}

/// The metadata of a message with the client's own id, which [`has_id`] finds.
#[must_use]
pub fn client_metadata(client_message_id: String) -> Option<JsonText> {
    let metadata = serde_json::to_string(&ClientMetadata { client_message_id });
    JsonText::parse(metadata.ok()?).ok()
}

/// The idempotency key of a turn, from the client's own id of its message: the same in every retry, and unique to the
/// chat.
#[must_use]
pub fn key_from_message_id(chat: &OwnedChat, client_message_id: &str) -> CommitId {
    let key = &chat.target.key;
    let name = format!("{}\n{}\n{client_message_id}", key.tenant, key.conversation);
    CommitId::named(&name)
}

/// Whether an event has this id: the client's or the record's.
#[must_use]
pub fn has_id(event: &RecordedEvent, id: &str) -> bool {
    let metadata = event.event.metadata.as_ref();
    let own = metadata.and_then(|json| serde_json::from_str::<ClientMetadata>(json.as_str()).ok());
    own.is_some_and(|own| own.client_message_id == id) || event.event.id.to_string() == id
}
