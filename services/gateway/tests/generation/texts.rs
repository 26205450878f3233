//! Builds facts, and reads the texts of parts and events.

use domain::event::{MessageAppended, Role};
use domain::{CallId, CommitId, Fact, NewEvent, Part, RecordedEvent, RunPart, RunPartKind};
use generation::FollowItem;
use uuid::Uuid;

pub(crate) fn part(item: FollowItem) -> RunPart {
    match item {
        FollowItem::Part(part) => part,
        FollowItem::Gone => panic!("the parts are gone"),
    }
}

/// The text of parts.
pub(crate) fn text_of(parts: &[RunPart]) -> String {
    let texts = parts.iter().filter_map(|part| match &part.kind {
        RunPartKind::TextDelta(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// The texts of the assistant's messages.
pub(crate) fn answers(events: &[RecordedEvent]) -> Vec<String> {
    let messages = events.iter().filter_map(|event| match &event.event.fact {
        Fact::MessageAppended(message) if message.role == Role::Assistant => Some(message),
        _ => None,
    });
    messages.map(text_of_message).collect()
}

fn text_of_message(message: &MessageAppended) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

pub(crate) fn user(text: &str) -> Fact {
    Fact::MessageAppended(MessageAppended::new(Role::User, vec![Part::Text(text.to_owned())]))
}

pub(crate) fn new_event(fact: Fact) -> NewEvent {
    NewEvent { id: None, occurred_at: None, metadata: None, tokens: 0, fact }
}

/// A text of this many different words.
pub(crate) fn prose(words: usize) -> String {
    let words: Vec<String> = (1..=words).map(|word| format!("w{word}")).collect();
    words.join(" ")
}

pub(crate) fn call_id(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

pub(crate) fn new_key() -> CommitId {
    CommitId(Uuid::now_v7())
}
