//! A commit: 1 to 500 events that are appended together, as one message of the record.

use crate::bounds::COMMIT_OVERHEAD_BYTES;
use crate::event::{Event, RecordedEvent};
use crate::head::Head;
use crate::id::{CommitId, ConversationId, Label, TenantId};
use crate::position::Version;
use crate::request_digest::RequestDigest;
use crate::time::Timestamp;

/// The name of the service token that appended a commit, never the token.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Actor(pub Label);

/// A commit as read back from the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The tenant.
    pub tenant: TenantId,
    /// The conversation.
    pub conversation: ConversationId,
    /// Its id: the caller's idempotency key, if there is one.
    pub id: CommitId,
    /// The version of its first event.
    pub first_version: Version,
    /// When the writer recorded it; it never decreases within a conversation.
    pub recorded_at: Timestamp,
    /// The token that appended it.
    pub actor: Actor,
    /// The digest of the request.
    pub request_digest: RequestDigest,
    /// The head that it produces.
    pub head: Head,
    /// Its events, in order; the first has `first_version`.
    pub events: Vec<Event>,
    /// Its stored bytes: see [`stored_bytes`].
    pub stored_bytes: u64,
}

/// The stored bytes of a commit: the encodings of its events, uncompressed, and [`COMMIT_OVERHEAD_BYTES`].
pub fn stored_bytes(encodings: impl Iterator<Item = usize>) -> u64 {
    let bytes = encodings.map(|length| u64::try_from(length).unwrap_or(u64::MAX));
    bytes.fold(COMMIT_OVERHEAD_BYTES, u64::saturating_add)
}

impl Commit {
    /// Its events, each with its version, commit and time.
    pub fn recorded_events(&self) -> impl Iterator<Item = RecordedEvent> + '_ {
        self.events.iter().enumerate().map(|(index, event)| RecordedEvent {
            version: self.first_version.plus(index),
            commit: self.id,
            recorded_at: self.recorded_at,
            event: event.clone(),
        })
    }
}
