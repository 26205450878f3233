//! What of the record is elsewhere: the catalogue of archived segments, in a stream of the record itself, and what an archive
//! needs of the record beside it.
//!
//! An entry is one message under the subject of its segment, and a change replaces it, so that a reader sees one segment or its
//! successor and never both. Entries hold names, places and counts, and nothing of what was said.

mod catalogue;
mod entry;
mod stretch;

pub use catalogue::CatalogueError;
pub use entry::{ArchiveEntry, ArchivedSegment, CataloguedEntry};
pub use stretch::{TimedMessage, TimedTail};
