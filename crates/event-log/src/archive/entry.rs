//! What the catalogue says of a segment.

use domain::Sequence;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A segment of the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArchiveEntry {
    /// The segment.
    pub segment: Uuid,
    /// The partition that it is of.
    pub partition: u16,
    /// The store that its objects are in, as a URL.
    pub store: String,
    /// What it holds; `None`: nothing yet, or nothing any more.
    pub sealed: Option<ArchivedSegment>,
    /// Objects that may be in the store and are to go: written and not sealed yet, or replaced.
    pub loose: Vec<String>,
}

/// What a segment holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArchivedSegment {
    /// Its object in the store.
    pub object: String,
    /// SHA-256 of the object, in hexadecimal digits.
    pub sha256: String,
    /// Bytes of the object.
    pub size_bytes: u64,
    /// The first message's sequence.
    pub first_sequence: u64,
    /// The last message's sequence.
    pub last_sequence: u64,
    /// Conversations that it has a stretch of.
    pub conversations: u64,
    /// Its messages.
    pub commits: u64,
    /// Their events.
    pub events: u64,
    /// When it was sealed first, as RFC 3339 writes it.
    pub made_at: String,
    /// Whether the record's own copy is gone. While it is not, messages are in both.
    pub is_trimmed: bool,
}

/// An entry, and the revision that a change of it must name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CataloguedEntry {
    /// The entry.
    pub entry: ArchiveEntry,
    /// Its place in the catalogue's stream.
    pub revision: Sequence,
}
