//! The projection `conversations`: conversations, their events and their listings.
//!
//! [`apply()`] writes a batch of commits and its checkpoint in one transaction, under a [`lease`] whose epoch rejects other
//! projectors. Commits carry heads, so no rows are read first. A commit that cannot be written parks its conversation
//! ([`parking`]); all others continue. The same transaction counts the usage of models and updates the digest of each
//! partition. [`copy()`] fills a new schema. [`verification`] compares rows with the record and repairs them.

mod apply;
mod batch;
mod cell;
mod column;
mod conversation_rows;
mod copy;
mod digest;
mod document_fold;
mod document_rows;
mod erase_long;
mod event_rows;
pub(crate) mod fence;
mod group;
mod idle;
mod isolate;
pub mod lease;
pub mod overview;
pub mod parking;
mod prefixes;
mod projected_heads;
mod residue;
mod row_key;
mod run_ends;
mod tombstones;
mod usage;
pub mod verification;
mod wait;
mod write;
mod write_failure;

pub use apply::{ApplyError, apply, copy};
pub use batch::{Applied, Batch, Item, ParkReason, Parked};
pub use erase_long::ERASED_EVENTS_PER_TRANSACTION_MAX;
pub use idle::{ErasedConversations, idle_conversations};
pub use prefixes::{has_rows, prefixes};
pub use projected_heads::{HEADS_PER_PAGE, ProjectedHead, projected_heads};
pub use residue::{delete_usage, residue};
pub use wait::{projected_until, wait_until_reached};
