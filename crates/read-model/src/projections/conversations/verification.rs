//! Compares the rows with the record, and repairs them.
//!
//! Expected rows come from the functions that the projection writes with. They are compared with the bytes that Postgres
//! sends, one by one or, for many conversations, by digest ([`RowsFold`], [`RowsScan`]). Conversations change while they are
//! read, so different digests are only candidates; [`RowState`], which reads one snapshot, decides. Differences contain names
//! of columns, never values.

mod compare;
mod difference;
mod digests;
mod documents;
mod fold;
mod keys;
mod repair;
mod row_state;
mod scan;
mod value_digest;

pub use compare::{compare_events, unfounded_events};
pub use difference::Difference;
pub use digests::{ParkedPosition, PartitionDigest, digests, rewrite_digest};
pub use documents::{DocumentsDigest, compare_documents};
pub use fold::{RowsDigest, RowsFold};
pub use keys::{KeyRange, RowPosition, row_positions};
pub use repair::{RepairError, repair};
pub use row_state::{RowState, row_state};
pub use scan::{RowsPage, RowsScan, ScannedConversation};
