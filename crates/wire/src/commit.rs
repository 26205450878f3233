//! Commits as messages of the record: sealed by the writer, opened by everybody.

use bytes::Bytes;
use domain::bounds::{EVENT_BYTES_MAX, EVENTS_PER_COMMIT_MAX};
use domain::{
    Actor, Commit, CommitFacts, CommitId, ConversationId, Event, Head, Label, Position,
    RequestDigest, Sequence, TenantId, Timestamp, Version, Violation, ViolationReason,
    stored_bytes,
};
use prost::Message as _;
use thiserror::Error;

use crate::head::{self, array, required_time, uuid};
use crate::proto::event::v1 as proto;
use crate::{event, time};

/// Bodies of this many bytes and more are compressed.
pub const COMPRESSED_FROM_BYTES: usize = 1_024;
/// Zstandard's level: its default, which costs tens of microseconds for a usual commit.
const ZSTD_LEVEL: i32 = 3;
/// Most bytes that a body may unpack to: 500 events of 512 KiB, what the writer counted of each, and their framing.
const BODY_BYTES_MAX: usize = EVENTS_PER_COMMIT_MAX * (EVENT_BYTES_MAX + 64);

/// What the writer knows of a commit before it has a head.
#[derive(Debug, Clone)]
pub struct Draft<'a> {
    /// Whose it is.
    pub tenant: &'a TenantId,
    /// Which conversation it extends.
    pub conversation: &'a ConversationId,
    /// Its id.
    pub id: CommitId,
    /// What was asked, in short.
    pub request_digest: RequestDigest,
    /// When it is recorded.
    pub recorded_at: Timestamp,
    /// Who appends it.
    pub actor: &'a Actor,
    /// Its events, in order; at least one.
    pub events: &'a [Event],
}

/// A commit ready to be published.
#[derive(Debug, Clone)]
pub struct Sealed {
    /// The message.
    pub message: Bytes,
    /// The head that it produces.
    pub head: Head,
    /// What it counts of its owners' stored bytes: see [`domain::stored_bytes`].
    pub stored_bytes: u64,
}

/// A commit as read back from the record.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The commit.
    pub commit: Commit,
    /// Each event's own bytes, verbatim, in order.
    pub event_bytes: Vec<Bytes>,
    /// The plain body, which the chain covers.
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

/// A message of the record that is no commit. The caller adds stream and sequence.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CorruptCommit {
    /// The bytes are not a commit's.
    #[error("the message is not a commit")]
    NotACommit,
    /// The codec is unknown to this version, or the body does not unpack.
    #[error("the body cannot be unpacked")]
    Body,
    /// A field is missing or malformed.
    #[error("the commit's {0} is missing or malformed")]
    Field(String),
    /// The envelope's count differs from the body's.
    #[error("the envelope counts {counted} events, the body holds {held}")]
    EventCount {
        /// By the envelope.
        counted: u32,
        /// By the body.
        held: usize,
    },
}

/// The body, with each event left as its own bytes. Compatible with `hansard.event.v1.Body`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
struct RawBody {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    events: Vec<Bytes>,
}

/// Seals a commit: encodes its events, folds the head, links the chain.
///
/// `previous` is the head that it extends and the sequence of the commit that carries it; `None` begins a conversation.
///
/// # Errors
/// [`ViolationReason::EventTooLarge`] with the event's place, or [`ViolationReason::Malformed`] when neither a previous
/// head nor a first `ConversationCreated` is there to begin with.
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
        Violation::new(ViolationReason::Malformed, "does not begin a conversation")
            .within("events[0]")
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
    let message = proto::Commit {
        envelope: Some(envelope),
        codec: codec.into(),
        body,
    };
    Ok(Sealed {
        message: message.encode_to_vec().into(),
        head,
        stored_bytes,
    })
}

/// Opens a message of the record.
///
/// # Errors
/// [`CorruptCommit`]: the caller names stream and sequence, and never skips it.
pub fn open(message: Bytes) -> Result<Opened, CorruptCommit> {
    let commit = proto::Commit::decode(message).map_err(|_| CorruptCommit::NotACommit)?;
    let codec = commit.codec();
    let envelope = commit.envelope.ok_or(CorruptCommit::NotACommit)?;
    let body = unpack(codec, commit.body)?;
    let event_bytes = RawBody::decode(body.clone())
        .map_err(|_| CorruptCommit::Body)?
        .events;
    if usize::try_from(envelope.event_count) != Ok(event_bytes.len()) {
        return Err(CorruptCommit::EventCount {
            counted: envelope.event_count,
            held: event_bytes.len(),
        });
    }
    let events = event_bytes
        .iter()
        .map(|bytes| decode_event(bytes.clone()))
        .collect::<Result<_, _>>()?;
    let stored_bytes = stored_bytes(event_bytes.iter().map(Bytes::len));
    Ok(Opened {
        commit: commit_of(envelope, events, stored_bytes)?,
        event_bytes,
        body,
    })
}

/// Reads only the head of a message of the record, and the id and digest of its commit through `head.recent`.
///
/// # Errors
/// As [`open`].
pub fn open_head(message: Bytes) -> Result<Head, CorruptCommit> {
    let commit = proto::Commit::decode(message).map_err(|_| CorruptCommit::NotACommit)?;
    let head = commit
        .envelope
        .and_then(|envelope| envelope.head)
        .ok_or(CorruptCommit::NotACommit)?;
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

/// The version of the first of the events that led to a head.
fn first_version(head: &Head, event_count: u32) -> Version {
    Version(head.version.0.saturating_sub(event_count.into())).next()
}

fn encode_events(events: &[Event]) -> Result<Vec<Bytes>, Violation> {
    let encode = |(index, event): (usize, &Event)| {
        let event = event::to_proto(event);
        let bytes = event.encode_to_vec();
        let given = bytes.len() - counts_len(&event);
        if given > EVENT_BYTES_MAX {
            let description =
                format!("is {given} bytes encoded, at most {EVENT_BYTES_MAX} are taken: split it");
            return Err(Violation::new(ViolationReason::EventTooLarge, description)
                .at(index)
                .within("events"));
        }
        Ok(Bytes::from(bytes))
    };
    events.iter().enumerate().map(encode).collect()
}

/// How many of an event's bytes are what the writer counted: the caller cannot make them fewer.
fn counts_len(event: &proto::Event) -> usize {
    let counts = proto::Event {
        tokens: event.tokens,
        tokens_through: event.tokens_through,
        ..proto::Event::default()
    };
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
            zstd::bulk::decompress(&body, size.min(BODY_BYTES_MAX))
                .map(Bytes::from)
                .map_err(|_| CorruptCommit::Body)
        }
        proto::Codec::Unspecified => Err(CorruptCommit::Body),
    }
}

fn commit_of(
    envelope: proto::Envelope,
    events: Vec<Event>,
    stored_bytes: u64,
) -> Result<Commit, CorruptCommit> {
    let read = || -> Result<Commit, Violation> {
        let head = envelope.head.unwrap_or_default();
        Ok(Commit {
            tenant: TenantId::parse(envelope.tenant_id)
                .map_err(|violation| violation.within("tenant_id"))?,
            conversation: ConversationId::parse(envelope.conversation_id)
                .map_err(|violation| violation.within("conversation_id"))?,
            id: CommitId(uuid(&envelope.commit_id, "commit_id")?),
            first_version: Version(envelope.first_version),
            recorded_at: required_time(envelope.recorded_at, "recorded_at")?,
            actor: Actor(
                Label::parse(envelope.actor).map_err(|violation| violation.within("actor"))?,
            ),
            request_digest: RequestDigest(array(&envelope.request_digest, "request_digest")?),
            head: head::from_proto(head).map_err(|violation| violation.within("head"))?,
            events,
            stored_bytes,
        })
    };
    read().map_err(|violation| CorruptCommit::Field(violation.field))
}
