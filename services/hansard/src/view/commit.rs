//! A commit of the record as JSON: position, envelope and events.

use event_log::StoredMessage;
use prost::Message as _;
use serde_json::{Value, json};
use wire::proto::event::v1 as proto;

use wire::json as view;

/// A commit as protobuf messages.
#[derive(Debug, Clone)]
pub(crate) struct DecodedCommit {
    pub(crate) envelope: proto::Envelope,
    /// The events, in order.
    pub(crate) events: Vec<proto::Event>,
}

/// Decodes a message of the record, which must be a commit.
pub(crate) fn open(message: &StoredMessage) -> anyhow::Result<DecodedCommit> {
    let opened = message.open()?.opened;
    let envelope = proto::Commit::decode(message.message.clone())?.envelope;
    Ok(DecodedCommit { envelope: envelope.unwrap_or_default(), events: proto::Body::decode(opened.body)?.events })
}

/// A message of the record, which must be a commit, as one JSON object.
pub(crate) fn json_of(message: &StoredMessage) -> anyhow::Result<Value> {
    let commit = open(message)?;
    let events = commit.events.iter().map(|event| view::of("hansard.event.v1.Event", event));
    let id = uuid::Uuid::from_slice(&commit.envelope.commit_id)?;
    Ok(json!({
        "partition": message.position.partition.0,
        "sequence": message.position.sequence.0,
        "commitId": id.to_string(),
        "envelope": view::of("hansard.event.v1.Envelope", &commit.envelope)?,
        "events": events.collect::<Result<Vec<Value>, view::JsonError>>()?,
    }))
}
