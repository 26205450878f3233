//! Converts a conversation to write requests. Every id is computed from agent, data set, key and index, so that a repeated import
//! sends the same requests with the same idempotency keys.
//!
//! The division into commits is part of that identity: a change of the bounds below requires a new scheme.

use prost::Message as _;
use uuid::Uuid;
use wire::proto::event::v1 as proto;
use wire::proto::write::v1::append_stream_request::Command;
use wire::proto::write::v1::{AppendEventsRequest, CommandTarget, CreateConversationRequest};

use super::Dialogue;

/// The maximum number of events of one commit of an import.
const EVENTS_PER_COMMIT: usize = 100;
/// The maximum encoded size of the events of one commit of an import; a larger event gets its own commit.
const BYTES_PER_COMMIT: usize = 256 * 1_024;
/// The version of the computation of ids and commits; part of every id.
const SCHEME: &str = "hansard-import/1";

/// The agent and the data set of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The agent, which determines the tenant.
    pub agent: String,
    /// The name of the data set, part of every id.
    pub dataset: String,
}

/// The requests for one conversation, to be sent in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The conversation.
    pub conversation_id: String,
    /// The number of messages in the source; one message may give several events.
    pub messages: usize,
    /// One creation, then the appends.
    pub commands: Vec<Command>,
}

/// Computes the id of the conversation with the key `key` in its data set.
#[must_use]
pub fn conversation_id(destination: &Destination, key: &str) -> Uuid {
    // The lengths ensure that different triples give different names.
    let Destination { agent, dataset } = destination;
    let (agent_bytes, dataset_bytes) = (agent.len(), dataset.len());
    let name = format!("{SCHEME}\n{agent_bytes} {dataset_bytes} {agent}\n{dataset}\n{key}");
    Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes())
}

/// Computes the requests for one conversation.
#[must_use]
pub fn plan(dialogue: Dialogue, destination: &Destination) -> Plan {
    let conversation = conversation_id(destination, &dialogue.key);
    let key = |name: &str| Uuid::new_v5(&conversation, name.as_bytes()).to_string();
    let messages = dialogue.events.last().map_or(0, |last| last.message + 1);
    let first = dialogue.events.first();
    let create = CreateConversationRequest {
        agent_id: destination.agent.clone(),
        conversation_id: conversation.to_string(),
        idempotency_key: key("create"),
        owner: Some(proto::Owner { kind: Some(dialogue.owner) }),
        title: dialogue.title,
        metadata_json: dialogue.metadata_json,
        occurred_at: first.and_then(|first| first.event.occurred_at),
        ..CreateConversationRequest::default()
    };
    let mut commands = vec![Command::CreateConversation(create)];
    let events = dialogue.events.into_iter().map(|placed| placed.event);
    for (index, events) in commits(events).into_iter().enumerate() {
        let target = Some(CommandTarget {
            agent_id: destination.agent.clone(),
            conversation_id: conversation.to_string(),
            idempotency_key: key(&format!("append {index}")),
            expected_version: None,
        });
        commands.push(Command::AppendEvents(AppendEventsRequest { target, events, ..AppendEventsRequest::default() }));
    }
    Plan { conversation_id: conversation.to_string(), messages, commands }
}

fn commits(events: impl Iterator<Item = proto::Event>) -> Vec<Vec<proto::Event>> {
    let mut commits: Vec<Vec<proto::Event>> = Vec::new();
    let mut bytes = 0;
    for event in events {
        let size = event.encoded_len();
        match commits.last_mut() {
            Some(last) if last.len() < EVENTS_PER_COMMIT && bytes + size <= BYTES_PER_COMMIT => {
                bytes += size;
                last.push(event);
            }
            _ => {
                bytes = size;
                commits.push(vec![event]);
            }
        }
    }
    commits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{SourceEvent, text_part};

    fn destination(agent: &str, dataset: &str) -> Destination {
        Destination { agent: agent.to_owned(), dataset: dataset.to_owned() }
    }

    fn dialogue(sizes: &[usize]) -> Dialogue {
        let event = |size: &usize| proto::Event {
            fact: Some(proto::event::Fact::MessageAppended(proto::MessageAppended {
                role: proto::Role::User.into(),
                parts: vec![text_part("x".repeat(*size))],
                ..proto::MessageAppended::default()
            })),
            ..proto::Event::default()
        };
        let events = sizes.iter().map(event).enumerate();
        Dialogue {
            key: "k".to_owned(),
            owner: proto::owner::Kind::SessionId("s".to_owned()),
            title: String::new(),
            metadata_json: String::new(),
            events: events.map(|(message, event)| SourceEvent { message, event }).collect(),
            remarks: Vec::new(),
        }
    }

    fn check(sizes: &[usize], expected: &[usize]) {
        let plan = plan(dialogue(sizes), &destination("a", "d"));
        let lengths: Vec<usize> = plan
            .commands
            .iter()
            .filter_map(|command| match command {
                Command::AppendEvents(append) => Some(append.events.len()),
                Command::CreateConversation(_) => None,
            })
            .collect();
        assert_eq!(lengths, expected);
        assert_eq!(plan.messages, sizes.len());
    }

    #[test]
    fn commits_respect_their_bounds() {
        check(&[1], &[1]);
        check(&[1; EVENTS_PER_COMMIT], &[EVENTS_PER_COMMIT]);
        check(&[1; EVENTS_PER_COMMIT + 1], &[EVENTS_PER_COMMIT, 1]);
        let half = BYTES_PER_COMMIT / 2;
        check(&[half - 100, half - 100, 1_000], &[2, 1]);
        check(&[BYTES_PER_COMMIT + 1, 1, 1], &[1, 2]);
    }

    #[test]
    fn ids_depend_on_agent_data_set_and_key_only() {
        let ids = [
            conversation_id(&destination("a", "d"), "k"),
            conversation_id(&destination("b", "d"), "k"),
            conversation_id(&destination("a", "e"), "k"),
            conversation_id(&destination("a", "d"), "l"),
            conversation_id(&destination("a", "d\nk"), ""),
        ];
        for (index, id) in ids.iter().enumerate() {
            assert!(!ids[..index].contains(id), "{index}");
        }
        // Must never change: a repeated import would otherwise create everything twice.
        assert_eq!(ids[0].to_string(), "a7be2ef1-ccd7-59fa-860c-10258ffaff4c");
        let (first, again) =
            (plan(dialogue(&[1; 300]), &destination("a", "d")), plan(dialogue(&[1; 300]), &destination("a", "d")));
        assert_eq!(first, again);
    }
}
