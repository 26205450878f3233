//! `conversations`: conversations, their events and their listings.
//!
//! A batch of commits and the checkpoint behind it are written in one transaction ([`apply()`]), under a [`lease`] whose
//! epoch fences off everybody else. Since commits carry heads, nothing is read first. What cannot be written parks its
//! conversation ([`parking`]); all others go on. What the batch's models were paid for is counted with it, and so is the
//! digest of what each partition holds. A schema that is being filled is written by [`copy()`]. [`verification`] compares
//! rows with the record, and writes them anew.

mod apply;
mod batch;
mod cell;
mod column;
mod conversation_rows;
mod copy;
mod digest;
mod elsewhere;
mod erase_ahead;
mod event_rows;
mod group;
mod isolate;
pub mod lease;
pub mod overview;
pub mod parking;
mod quiet;
mod reached;
mod remains;
mod row_key;
mod tombstones;
mod usage;
pub mod verification;
mod write;
mod write_failure;

pub use apply::{ApplyError, apply, copy};
pub use batch::{Applied, Batch, Item, ParkReason, Parked};
pub use erase_ahead::ERASED_EVENTS_PER_TRANSACTION_MAX;
pub use quiet::quiet_among;
pub use reached::wait_until_reached;
pub use remains::{forget_usage, remains};
