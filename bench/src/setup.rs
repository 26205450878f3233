//! Creates the conversations of the measurements.

use std::sync::Arc;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use hansard::client::{AppendStream, retrying};
use rand::RngExt as _;
use wire::proto::event::v1::event::Fact;
use wire::proto::event::v1::part::Kind;
use wire::proto::event::v1::{Event, ForkPoint, MessageAppended, Owner, Part, Role, owner};
use wire::proto::write::v1::append_stream_request::Command;
use wire::proto::write::v1::{AppendEventsRequest, CommandTarget, CreateConversationRequest};

use super::target::Target;

/// Conversations that are created concurrently.
const IN_FLIGHT: usize = 512;
/// Messages of a commit of an import.
pub(super) const IMPORT: usize = 100;
/// Messages of a commit of a chat: a question and its answer.
pub(super) const TURN: usize = 2;

#[derive(Debug, Clone, Copy)]
pub(super) struct Fill<'a> {
    /// Part of their ids and of their owner's session id.
    pub(super) name: &'a str,
    pub(super) conversations: usize,
    pub(super) messages: usize,
    /// Messages of each commit. Reads of a conversation get its last commit.
    pub(super) per_commit: usize,
    /// Bytes of text per message.
    pub(super) event_bytes: usize,
}

/// Creates conversations; returns their ids.
pub(super) async fn conversations(target: &Target, fill: Fill<'_>) -> anyhow::Result<Arc<[String]>> {
    let writer = target.writer()?;
    let stream = AppendStream::to(writer, IN_FLIGHT);
    let make = |number| {
        let stream = stream.clone();
        async move {
            let id = format!("bench-{}-{}-{number}", target.run, fill.name);
            let request = create(target, fill.name, &id);
            send(&stream, Command::CreateConversation(request)).await?;
            let mut left = fill.messages;
            while left > 0 {
                let events = left.min(fill.per_commit);
                let messages = messages(events, fill.event_bytes);
                let append = append(target, &id, messages);
                send(&stream, Command::AppendEvents(append)).await?;
                left -= events;
            }
            anyhow::Ok(id)
        }
    };
    let ids: Vec<String> = stream::iter(0..fill.conversations).map(make).buffered(IN_FLIGHT).try_collect().await?;
    Ok(ids.into())
}

/// A conversation and its last version.
pub(super) struct Fork {
    pub(super) id: String,
    version: u64,
}

/// Creates a conversation with these messages, or a fork of `parent`.
pub(super) async fn fork(
    target: &Target,
    id: String,
    parent: Option<Fork>,
    messages: Vec<Event>,
) -> anyhow::Result<Fork> {
    let mut writer = target.writer()?.writer();
    let inherited = parent.as_ref().map_or(0, |parent| parent.version);
    let request = CreateConversationRequest {
        forked_from: parent.map(|parent| ForkPoint {
            conversation_id: parent.id,
            version: parent.version,
            ..ForkPoint::default()
        }),
        ..create(target, "forks", &id)
    };
    retrying(|| {
        let (mut writer, request) = (writer.clone(), request.clone());
        async move { Ok(writer.create_conversation(request).await?) }
    })
    .await?;
    let version = inherited + 1 + u64::try_from(messages.len())?;
    writer.append_events(append(target, &id, messages)).await?;
    Ok(Fork { id, version })
}

/// The owning session of the conversations of a name.
pub(super) fn session(target: &Target, name: &str) -> String {
    format!("bench-{}-{name}", target.run)
}

async fn send(stream: &AppendStream, command: Command) -> anyhow::Result<()> {
    retrying(|| stream.send(command.clone())).await?;
    Ok(())
}

fn create(target: &Target, name: &str, id: &str) -> CreateConversationRequest {
    CreateConversationRequest {
        agent_id: target.agent.clone(),
        conversation_id: id.to_owned(),
        idempotency_key: uuid::Uuid::now_v7().to_string(),
        owner: Some(Owner { kind: Some(owner::Kind::SessionId(session(target, name))) }),
        ..CreateConversationRequest::default()
    }
}

/// A request to append, with a new idempotency key.
pub(super) fn append(target: &Target, id: &str, events: Vec<Event>) -> AppendEventsRequest {
    AppendEventsRequest {
        target: Some(CommandTarget {
            agent_id: target.agent.clone(),
            conversation_id: id.to_owned(),
            idempotency_key: uuid::Uuid::now_v7().to_string(),
            expected_version: None,
        }),
        events,
        ..AppendEventsRequest::default()
    }
}

/// The same events for another conversation, with a new idempotency key.
pub(super) fn from_template(template: &AppendEventsRequest, id: &str) -> AppendEventsRequest {
    let mut request = template.clone();
    if let Some(target) = &mut request.target {
        id.clone_into(&mut target.conversation_id);
        target.idempotency_key = uuid::Uuid::now_v7().to_string();
    }
    request
}

/// `count` messages with `bytes` of text each.
pub(super) fn messages(count: usize, bytes: usize) -> Vec<Event> {
    (0..count).map(|_| message(bytes)).collect()
}

fn message(bytes: usize) -> Event {
    let text = Part { kind: Some(Kind::Text(text(bytes))) };
    Event {
        fact: Some(Fact::MessageAppended(MessageAppended {
            role: Role::User.into(),
            parts: vec![text],
            ..MessageAppended::default()
        })),
        ..Event::default()
    }
}

/// Words of random letters, which compress at most as well as natural text.
fn text(bytes: usize) -> String {
    let mut random = rand::rng();
    let mut letter = || match random.random_range(0..32_u8) {
        letter @ 0..26 => char::from(b'a' + letter),
        _ => ' ',
    };
    std::iter::repeat_with(&mut letter).take(bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_requested_size() {
        for bytes in [0, 1, 200] {
            assert_eq!(text(bytes).len(), bytes);
        }
    }
}
