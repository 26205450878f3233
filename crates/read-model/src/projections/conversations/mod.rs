//! `conversations`: conversations, their events and their listings.
//!
//! A batch of commits and the checkpoint behind it are written in one transaction ([`apply()`]), under a [`lease`] whose
//! epoch fences off everybody else. Since commits carry heads, nothing is read first. What cannot be written parks its
//! conversation ([`parking`]); all others go on. What the batch's models were paid for is counted with it.

mod apply;
mod batch;
mod conversation_rows;
mod event_rows;
mod group;
mod isolate;
pub mod lease;
pub mod overview;
pub mod parking;
mod remains;
mod usage;
mod write;

pub use apply::{ApplyError, apply};
pub use batch::{Applied, Batch, Item, ParkReason, Parked, PlacedCommit};
pub use remains::{forget_usage, remains};
