//! Erasures by operators, straight on the record: no service has to run, and none has to stop.
//!
//! A tombstone is appended, so that nothing can be appended any more; what was before it is overwritten, message by
//! message, and so are the parts of its runs; a projector removes the rows when it comes to the tombstone. Each step can
//! be done twice, and a job that was cut short is finished by the next one for the same subject: its tombstones carry the
//! job's mark.

mod again;
mod detach;
mod entry;
mod foresight;
mod job;
pub mod keys;
mod past;
mod plan;
pub mod receipt;
mod rows;
mod scan;
mod subject;
mod tombstone;
mod usage;
mod whole;

pub use again::{Again, of_receipts};
pub use foresight::Foresight;
pub use job::{Erased, Job};
pub use plan::{ForkRule, Plan};
pub use rows::{Rows, await_rows};
pub use scan::{Found, finish_all, mark_pending, scan};
pub use subject::Subject;
pub use usage::{erase_metered, erase_usage};
