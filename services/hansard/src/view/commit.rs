//! A commit of the record as JSON: its place, its envelope and its events.

use event_log::StoredMessage;
use prost::Message as _;
use serde_json::{Value, json};
use wire::proto::event::v1 as proto;

use super::json as view;

/// A commit as its own messages say it.
#[derive(Debug, Clone)]
pub struct Written {
    /// What is in clear.
    pub envelope: proto::Envelope,
    /// Its events, in order.
    pub events: Vec<proto::Event>,
}

/// Opens a message of the record.
///
/// # Errors
/// It is no commit.
pub fn open(message: &StoredMessage) -> anyhow::Result<Written> {
    let opened = message.open()?.opened;
    let envelope = proto::Commit::decode(message.message.clone())?.envelope;
    Ok(Written {
        envelope: envelope.unwrap_or_default(),
        events: proto::Body::decode(opened.body)?.events,
    })
}

/// A commit as one JSON object.
///
/// # Errors
/// It is no commit.
pub fn json_of(message: &StoredMessage) -> anyhow::Result<Value> {
    let written = open(message)?;
    let events = written
        .events
        .iter()
        .map(|event| view::of("hansard.event.v1.Event", event));
    let id = uuid::Uuid::from_slice(&written.envelope.commit_id)?;
    Ok(json!({
        "partition": message.position.partition.0,
        "sequence": message.position.sequence.0,
        "commitId": id.to_string(),
        "envelope": view::of("hansard.event.v1.Envelope", &written.envelope)?,
        "events": events.collect::<anyhow::Result<Vec<Value>>>()?,
    }))
}
