//! What can go wrong with an archive, by what the caller can do about it.

use event_log::{CatalogueError, Unavailable};
use thiserror::Error;
use uuid::Uuid;

use crate::segment::{CorruptSegment, EncodeError};
use crate::store::StoreError;

/// Why an archive cannot be read or written.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// The store does not answer, or does not hold what it should: bring it back, or say where it is.
    #[error("segment {segment} cannot be reached")]
    Unreachable {
        /// The segment.
        segment: Uuid,
        /// Why.
        #[source]
        source: StoreError,
    },
    /// The object is not what was sealed: bring another copy of it.
    #[error("segment {segment} is not whole: object {object}")]
    Corrupt {
        /// The segment.
        segment: Uuid,
        /// Its object.
        object: String,
        /// What is wrong with it.
        #[source]
        source: CorruptSegment,
    },
    /// The object is whole, and another than the catalogue says.
    #[error("segment {segment} is another than the catalogue says: object {object}")]
    Foreign {
        /// The segment.
        segment: Uuid,
        /// Its object.
        object: String,
    },
    /// What was read back is not what was written: the store cannot be trusted, and nothing was trimmed.
    #[error("the store gave back something else than was written: object {object}")]
    Unfaithful {
        /// The object.
        object: String,
    },
    /// The messages cannot be sealed; nothing was written.
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
