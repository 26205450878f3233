//! Erasures by operators, directly on the record, whether services run or not.
//!
//! An erasure appends a tombstone, which ends the conversation, then overwrites all messages before it and the parts of its
//! runs. A projector removes the rows when it reads the tombstone. Every step can be repeated. The next job for the same
//! subject completes an interrupted one: it recognises the tombstones by the job's mark.

mod dry_run;
mod from_receipts;
mod job;
pub(crate) mod keys;
mod plan;
pub(crate) mod receipt;
mod rows;
mod scan;
mod subject;
mod tombstone;
mod usage;

pub(crate) use dry_run::DryRun;
pub(crate) use from_receipts::{RepeatedErasure, read_receipts};
pub(crate) use job::{ErasureResult, Job};
pub(crate) use plan::{ForkRule, Plan};
pub(crate) use rows::{Rows, await_rows};
pub(crate) use scan::{Entry, ScannedConversation, finish_all, mark_pending, scan, scan_record};
pub(crate) use subject::Subject;
pub(crate) use usage::{erase_metered, erase_usage};
