//! Whether the rows of the read models and the record belong together.
//!
//! A checkpoint names the record, and the last commit that its rows contain, with the hash chain of that commit's conversation. A
//! record that was replaced, or restored from an older copy, lacks that commit: then rows and record have diverged. [`find()`] compares
//! them. [`Guard`] compares them before a role sends its first request, after each connect to NATS, and every two seconds; while they have
//! diverged, nothing is read, written or projected. [`create_record()`] creates no record beside rows of another one.

mod create;
mod divergence;
mod find;
mod guard;

pub use create::{CreateError, create_record};
pub use divergence::{Divergence, Holder};
pub use find::{CompareError, find, find_in_catalogue, find_in_schema};
pub use guard::{Diverged, Guard, ROWS_OF_RECORD};
