//! Entries of the archive catalogue.

use domain::Sequence;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A segment of the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArchiveEntry {
    /// The segment's id.
    pub segment: Uuid,
    /// Its partition.
    pub partition: u16,
    /// The URL of the object store.
    pub store: String,
    /// Its contents; `None`: not sealed yet, or empty by now.
    pub sealed: Option<ArchivedSegment>,
    /// Objects to delete from the store if they exist: written but not sealed, or replaced.
    pub loose: Vec<String>,
}

/// The contents of a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArchivedSegment {
    /// The name of its object in the store.
    pub object: String,
    /// SHA-256 of the object, in hexadecimal digits.
    pub sha256: String,
    /// The size of the object in bytes.
    pub size_bytes: u64,
    /// The first message's sequence.
    pub first_sequence: u64,
    /// The last message's sequence.
    pub last_sequence: u64,
    /// How many conversations it has commits of.
    pub conversations: u64,
    /// How many commits it has.
    pub commits: u64,
    /// How many events these commits have.
    pub events: u64,
    /// How many conversations have their last commit in it, which leaves the record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hibernated: u64,
    /// When it was first sealed (RFC 3339).
    pub made_at: String,
    /// Whether the record's own copy is removed. Until then the messages are in both.
    pub is_trimmed: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// An entry and its revision, which a change must name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CataloguedEntry {
    /// The entry.
    pub entry: ArchiveEntry,
    /// Its sequence in the catalogue's stream.
    pub revision: Sequence,
}
