//! A caller for one agent: the common calls of tests, over the wire.
//!
//! `try_…` returns the outcome; the other functions fail the test unless the call succeeds.

mod commands;
mod reads;
mod runs;

use prost_types::FieldMask;
use wire::proto::event::v1 as event;
use wire::proto::read::v1 as read;
use wire::proto::read::v1::list_conversations_request::Filter;
use wire::proto::write::v1 as write;

use crate::client::Caller;
use crate::events::session;

pub use commands::Outcome;

/// A caller and the agent that it acts for.
#[derive(Debug, Clone)]
pub struct Agent {
    caller: Caller,
    id: String,
}

impl Agent {
    /// A client of this agent with this caller.
    #[must_use]
    pub fn new(caller: Caller, id: &str) -> Self {
        Self { caller, id: id.to_owned() }
    }

    /// The agent's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The caller.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The target of a command without key and expectation.
    #[must_use]
    pub fn target(&self, conversation: &str) -> write::CommandTarget {
        write::CommandTarget {
            agent_id: self.id.clone(),
            conversation_id: conversation.to_owned(),
            ..write::CommandTarget::default()
        }
    }

    /// A request to create a conversation of the session `s`.
    #[must_use]
    pub fn create_request(&self, conversation: &str) -> write::CreateConversationRequest {
        write::CreateConversationRequest {
            agent_id: self.id.clone(),
            conversation_id: conversation.to_owned(),
            owner: Some(session("s")),
            ..write::CreateConversationRequest::default()
        }
    }

    /// A request to append.
    #[must_use]
    pub fn append_request(&self, conversation: &str, events: Vec<event::Event>) -> write::AppendEventsRequest {
        write::AppendEventsRequest {
            target: Some(self.target(conversation)),
            events,
            ..write::AppendEventsRequest::default()
        }
    }

    /// A request to change the named fields; the test sets their values.
    #[must_use]
    pub fn update_request(&self, conversation: &str, paths: &[&str]) -> write::UpdateConversationRequest {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        write::UpdateConversationRequest {
            target: Some(self.target(conversation)),
            update_mask: Some(FieldMask { paths }),
            ..write::UpdateConversationRequest::default()
        }
    }

    /// A target of fresh reads.
    #[must_use]
    pub fn read_target(&self, conversation: &str) -> read::ReadTarget {
        read::ReadTarget {
            agent_id: self.id.clone(),
            conversation_id: conversation.to_owned(),
            ..read::ReadTarget::default()
        }
    }

    /// A target of eventual reads, from the read model only.
    #[must_use]
    pub fn eventual_target(&self, conversation: &str) -> read::ReadTarget {
        read::ReadTarget { consistency: read::Consistency::Eventual.into(), ..self.read_target(conversation) }
    }

    /// A request for all events, oldest first.
    #[must_use]
    pub fn list_request(&self, conversation: &str) -> read::ListEventsRequest {
        read::ListEventsRequest { target: Some(self.read_target(conversation)), ..read::ListEventsRequest::default() }
    }

    /// A request to watch a conversation from a version.
    #[must_use]
    pub fn watch_request(&self, conversation: &str, from_version: u64) -> read::WatchConversationRequest {
        read::WatchConversationRequest {
            agent_id: self.id.clone(),
            conversation_id: conversation.to_owned(),
            from_version,
        }
    }

    /// A request for the first page of conversations, of the default size.
    #[must_use]
    pub fn conversations_request(&self, filter: Filter) -> read::ListConversationsRequest {
        read::ListConversationsRequest {
            agent_id: self.id.clone(),
            filter: Some(filter),
            ..read::ListConversationsRequest::default()
        }
    }
}
