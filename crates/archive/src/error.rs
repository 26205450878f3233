//! Errors of the archive, by what the caller can do about them.

use event_log::{CatalogueError, Unavailable};
use thiserror::Error;
use uuid::Uuid;

use crate::StoreError;
use crate::segment::{CorruptSegment, EncodeError};

/// Errors of reading and writing an archive.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// The store does not answer or lacks an object: bring it back, or name its new location.
    #[error("segment {segment} cannot be reached")]
    Unreachable {
        /// The segment.
        segment: Uuid,
        /// The cause.
        #[source]
        source: StoreError,
    },
    /// The object is damaged: bring another copy of it.
    #[error("segment {segment} is corrupt: object {object}")]
    Corrupt {
        /// The segment.
        segment: Uuid,
        /// Its object.
        object: String,
        /// The cause.
        #[source]
        source: CorruptSegment,
    },
    /// The object is intact, but differs from its catalogue entry.
    #[error("segment {segment} differs from its catalogue entry: object {object}")]
    Foreign {
        /// The segment.
        segment: Uuid,
        /// Its object.
        object: String,
    },
    /// The store returned other bytes than were written: it is not reliable. Nothing was trimmed.
    #[error("the store returned other bytes than were written: object {object}")]
    Unfaithful {
        /// The object.
        object: String,
    },
    /// The commits cannot be sealed; nothing was written.
    #[error("commits cannot be sealed")]
    Unsealable(#[source] EncodeError),
    /// A store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The catalogue cannot be read or changed.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// The record does not answer.
    #[error(transparent)]
    Record(#[from] Unavailable),
}

impl ArchiveError {
    /// Converts a store's error about a segment.
    pub(crate) fn unreachable(segment: Uuid) -> impl Fn(StoreError) -> Self + Copy {
        move |source| Self::Unreachable { segment, source }
    }
}
