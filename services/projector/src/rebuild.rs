//! Rebuilds the rows in a second schema while everything runs. The process of an operator does this, with the same folds as
//! the projector.
//!
//! [`load()`] fills the schema in bulk from the record. [`project`](crate::project()) then follows the record.
//! [`switch()`] brings both schemas to the same checkpoints and moves the pointer; projectors follow it.

mod catch_up;
mod chunk;
mod end;
mod load;
#[cfg(test)]
mod model;
mod switch;

pub use catch_up::CatchUpError;
pub use chunk::{CHUNK_BYTES, CHUNK_ROWS};
pub use load::{CONCURRENT_PARTITIONS, LoadError, load};
pub use switch::{SWITCH_ATTEMPTS_MAX, Switch, SwitchError, SwitchOutcome, switch};
