//! The only way to read a conversation.
//!
//! A request opens one [`Snapshot`]: the row of the conversation, its last commit in the record, read concurrently, and the
//! ancestors of a fork. A [`Cursor`] over the snapshot returns events in either direction, from the rows and from the tail.
//! The caller chooses a [`View`]: everything that was recorded, or the effective history, without events that a rewind hides.
//! [`EffectiveHistory`] and [`Page`] collect events from a cursor within bounds.

mod batched_rows;
mod batcher;
mod commits_after;
mod consistency;
mod conversation_read;
mod cursor;
mod deadline;
mod effective;
mod event;
mod known_fork;
mod known_lineages;
mod lineage;
mod lineage_rows;
mod newest;
mod page;
mod position;
mod prefetched;
pub mod problem;
mod range;
mod snapshot;
mod tail;
mod target;
mod window;

pub use commits_after::commits_after;
pub use cursor::{Cursor, CursorEvent, View};
pub use deadline::{ANSWER_MARGIN, Deadline, WAIT_DEFAULT};
pub use event::{decode, event_rows};
pub use known_lineages::{KnownLineages, LINEAGES_KNOWN_MAX};
pub use newest::{Coverage, EffectiveHistory, Newest};
pub use page::{Page, PageStart};
pub use position::CommitPosition;
pub use prefetched::Prefetched;
pub use range::{Bounds, Direction, Range};
pub use snapshot::{Readable, Snapshot};
pub use tail::{TAIL_PAGE_BYTES_MAX, TAIL_PAGE_COMMITS_MAX, Tail};
pub use target::{FencedTables, Freshness, Reader, Target};
