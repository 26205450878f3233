//! Commits as messages of the record: the writer seals them, readers open them.

use bytes::Bytes;
use domain::bounds::{EVENT_BYTES_MAX, EVENTS_PER_COMMIT_MAX};
use domain::{
    Actor, Commit, CommitFacts, CommitId, ConversationId, Event, FieldPath, Head, Label, Position, RequestDigest,
    Sequence, TenantId, Timestamp, Version, Violation, ViolationReason, stored_bytes,
};
use prost::Message as _;
use thiserror::Error;

use crate::head::{self, array, required_time, uuid};
use crate::proto::event::v1 as proto;
use crate::{event, time};

/// Bodies of this many bytes and more are compressed.
pub const COMPRESSED_FROM_BYTES: usize = 1_024;
/// The level of Zstandard: its default, which takes tens of microseconds for a typical commit.
const ZSTD_LEVEL: i32 = 3;
/// Most bytes of an unpacked body: 500 events of 512 KiB, with the counts of the writer and the framing.
const BODY_BYTES_MAX: usize = EVENTS_PER_COMMIT_MAX * (EVENT_BYTES_MAX + 64);

/// A commit before it has a head.
#[derive(Debug, Clone)]
pub struct Draft<'a> {
    /// The tenant.
    pub tenant: &'a TenantId,
    /// The conversation.
    pub conversation: &'a ConversationId,
    /// Its id.
    pub id: CommitId,
    /// The digest of the request.
    pub request_digest: RequestDigest,
    /// When it is recorded.
    pub recorded_at: Timestamp,
    /// The token that appends it.
    pub actor: &'a Actor,
    /// Its events, in order; at least one.
    pub events: &'a [Event],
}

/// A commit that can be published.
#[derive(Debug, Clone)]
pub struct Sealed {
    /// The message.
    pub message: Bytes,
    /// The head that it produces.
    pub head: Head,
    /// Its stored bytes: see [`domain::stored_bytes`].
    pub stored_bytes: u64,
}

/// A commit as read back from the record.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The commit.
    pub commit: Commit,
    /// Each event's own bytes, verbatim, in order.
    pub event_bytes: Vec<Bytes>,
    /// The plain body, which the hash chain covers.
    pub body: Bytes,
}

/// A commit and its position in the record.
#[derive(Debug, Clone)]
pub struct StoredCommit {
    /// Its position.
    pub position: Position,
    /// The commit, its events' bytes and its plain body.
    pub opened: Opened,
}

/// A message of the record that is not a commit. The caller adds stream and sequence.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CorruptCommit {
    /// The bytes are not a commit.
    #[error("the message is not a commit")]
    NotACommit,
    /// This version does not have the codec, or the body cannot be unpacked.
    #[error("the body cannot be unpacked")]
    Body,
    /// A field is missing or malformed.
    #[error("the commit's {0} is missing or malformed")]
    Field(FieldPath),
    /// The envelope's count differs from the body's.
    #[error("the envelope counts {counted} events, the body contains {held}")]
    EventCount {
        /// By the envelope.
        counted: u32,
        /// By the body.
        held: usize,
    },
}

/// The body, with each event as its own bytes. Compatible with `hansard.event.v1.Body`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
struct RawBody {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    events: Vec<Bytes>,
}

/// Seals a commit: encodes its events, computes its head and links the hash chain.
///
/// `previous` is the previous head and the sequence of its commit; `None` creates a conversation.
///
/// # Errors
/// [`ViolationReason::EventTooLarge`] with the event's index, or [`ViolationReason::Malformed`] if there is no previous head
/// and the first event is not `ConversationCreated`.
pub fn seal(draft: &Draft<'_>, previous: Option<(&Head, Sequence)>) -> Result<Sealed, Violation> {
    let events = encode_events(draft.events)?;
    let stored_bytes = stored_bytes(events.iter().map(Bytes::len));
    let event_count = u32::try_from(events.len()).unwrap_or(u32::MAX);
    let body = RawBody { events }.encode_to_vec();
    let facts = CommitFacts {
        id: draft.id,
        request_digest: draft.request_digest,
        recorded_at: draft.recorded_at,
        events: draft.events,
        body: &body,
        previous_sequence: previous.map(|(_, sequence)| sequence),
    };
    let before = previous.map(|(head, _)| head);
    let head = Head::after(before, &facts).ok_or_else(|| {
        Violation::new(ViolationReason::Malformed, "does not create a conversation").within("events[0]")
    })?;
    let envelope = proto::Envelope {
        tenant_id: draft.tenant.as_str().to_owned(),
        conversation_id: draft.conversation.as_str().to_owned(),
        commit_id: draft.id.0.as_bytes().to_vec().into(),
        first_version: first_version(&head, event_count).0,
        event_count,
        recorded_at: Some(time::to_proto(draft.recorded_at)),
        actor: draft.actor.0.as_str().to_owned(),
        request_digest: draft.request_digest.0.to_vec().into(),
        head: Some(head::to_proto(&head)),
    };
    let (codec, body) = pack(body);
    let message = proto::Commit { envelope: Some(envelope), codec: codec.into(), body };
    Ok(Sealed { message: message.encode_to_vec().into(), head, stored_bytes })
}

/// Opens a message of the record.
///
/// # Errors
/// [`CorruptCommit`]: the caller adds stream and sequence, and never skips the message.
pub fn open(message: Bytes) -> Result<Opened, CorruptCommit> {
    let commit = proto::Commit::decode(message).map_err(|_| CorruptCommit::NotACommit)?;
    let codec = commit.codec();
    let envelope = commit.envelope.ok_or(CorruptCommit::NotACommit)?;
    let body = unpack(codec, commit.body)?;
    let event_bytes = RawBody::decode(body.clone()).map_err(|_| CorruptCommit::Body)?.events;
    if usize::try_from(envelope.event_count) != Ok(event_bytes.len()) {
        return Err(CorruptCommit::EventCount { counted: envelope.event_count, held: event_bytes.len() });
    }
    let events = event_bytes.iter().map(|bytes| decode_event(bytes.clone())).collect::<Result<_, _>>()?;
    let stored_bytes = stored_bytes(event_bytes.iter().map(Bytes::len));
    Ok(Opened { commit: commit_from_proto(envelope, events, stored_bytes)?, event_bytes, body })
}

/// Reads only the head of a message of the record. `head.recent` contains the id and digest of its commit.
///
/// # Errors
/// As [`open`].
pub fn open_head(message: Bytes) -> Result<Head, CorruptCommit> {
    let commit = proto::Commit::decode(message).map_err(|_| CorruptCommit::NotACommit)?;
    let head = commit.envelope.and_then(|envelope| envelope.head).ok_or(CorruptCommit::NotACommit)?;
    head::from_proto(head).map_err(|violation| CorruptCommit::Field(violation.field))
}

/// An event from its own bytes.
///
/// # Errors
/// [`CorruptCommit::Body`] or [`CorruptCommit::Field`].
pub fn decode_event(bytes: Bytes) -> Result<Event, CorruptCommit> {
    let event = proto::Event::decode(bytes).map_err(|_| CorruptCommit::Body)?;
    event::from_proto(event).map_err(|violation| CorruptCommit::Field(violation.field))
}

/// The version of the first of the `event_count` events before a head.
fn first_version(head: &Head, event_count: u32) -> Version {
    Version(head.version.0.saturating_sub(event_count.into())).next()
}

fn encode_events(events: &[Event]) -> Result<Vec<Bytes>, Violation> {
    let encode = |(index, event): (usize, &Event)| {
        let event = event::to_proto(event);
        let bytes = event.encode_to_vec();
        let given = bytes.len() - counts_len(&event);
        if given > EVENT_BYTES_MAX {
            let description = format!("has {given} bytes encoded, at most {EVENT_BYTES_MAX} are allowed: split it");
            return Err(Violation::new(ViolationReason::EventTooLarge, description).at(index).within("events"));
        }
        Ok(Bytes::from(bytes))
    };
    events.iter().enumerate().map(encode).collect()
}

/// The bytes of the counts that the writer added to an event.
fn counts_len(event: &proto::Event) -> usize {
    let counts = proto::Event { tokens: event.tokens, tokens_through: event.tokens_through, ..proto::Event::default() };
    counts.encoded_len()
}

fn pack(body: Vec<u8>) -> (proto::Codec, Bytes) {
    if body.len() >= COMPRESSED_FROM_BYTES
        && let Ok(packed) = zstd::bulk::compress(&body, ZSTD_LEVEL)
        && packed.len() < body.len()
    {
        return (proto::Codec::Zstd, packed.into());
    }
    (proto::Codec::Plain, body.into())
}

fn unpack(codec: proto::Codec, body: Bytes) -> Result<Bytes, CorruptCommit> {
    match codec {
        proto::Codec::Plain => Ok(body),
        proto::Codec::Zstd => {
            let size = zstd::bulk::Decompressor::upper_bound(&body).ok_or(CorruptCommit::Body)?;
            zstd::bulk::decompress(&body, size.min(BODY_BYTES_MAX)).map(Bytes::from).map_err(|_| CorruptCommit::Body)
        }
        proto::Codec::Unspecified => Err(CorruptCommit::Body),
    }
}

fn commit_from_proto(
    envelope: proto::Envelope,
    events: Vec<Event>,
    stored_bytes: u64,
) -> Result<Commit, CorruptCommit> {
    let read = || -> Result<Commit, Violation> {
        let head = envelope.head.unwrap_or_default();
        Ok(Commit {
            tenant: TenantId::parse(envelope.tenant_id).map_err(|violation| violation.within("tenant_id"))?,
            conversation: ConversationId::parse(envelope.conversation_id)
                .map_err(|violation| violation.within("conversation_id"))?,
            id: CommitId(uuid(&envelope.commit_id, "commit_id")?),
            first_version: Version(envelope.first_version),
            recorded_at: required_time(envelope.recorded_at, "recorded_at")?,
            actor: Actor(Label::parse(envelope.actor).map_err(|violation| violation.within("actor"))?),
            request_digest: RequestDigest(array(&envelope.request_digest, "request_digest")?),
            head: head::from_proto(head).map_err(|violation| violation.within("head"))?,
            events,
            stored_bytes,
        })
    };
    read().map_err(|violation| CorruptCommit::Field(violation.field))
}
