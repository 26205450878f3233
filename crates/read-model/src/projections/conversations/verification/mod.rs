//! Whether the rows are what the record comes to, and making them so.
//!
//! What a row must be is made by the functions that the projection writes with; what it is, is read as Postgres sends it.
//! The two are compared byte by byte, or by digest where there are many ([`Folded`], [`RowsWalk`]). A digest that differs
//! is a suspicion: conversations move while they are read. The judgement is [`Standing`]'s, which is of one moment. No
//! value of a row leaves here: differences name columns.

mod compare;
mod difference;
mod digests;
mod fold;
mod keys;
mod repair;
mod standing;
mod walk;

pub use compare::{compare_events, unfounded_events};
pub use difference::Difference;
pub use digests::{ParkedPlace, PartitionDigest, digests, rewrite_digest};
pub use fold::{Folded, RowsDigest};
pub use keys::{KeyRange, RowPlace, row_places};
pub use repair::{RepairError, repair};
pub use standing::{Standing, standing};
pub use walk::{RowsPage, RowsWalk, WalkedConversation};
