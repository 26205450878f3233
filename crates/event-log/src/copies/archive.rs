//! The catalogue of archived segments, a stream of the record, and the reads and trims that an archive needs.
//!
//! An entry is one message under the subject of its segment. A change replaces it, so a reader sees a segment or its
//! successor, never both. Entries contain names, positions and counts, and no content of conversations.

mod catalogue;
mod entry;
mod timed_tail;

pub use catalogue::{CatalogueError, CatalogueRevision};
pub use entry::{ArchiveEntry, ArchivedSegment, CataloguedEntry};
pub use timed_tail::{TimedMessage, TimedTail};
