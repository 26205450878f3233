//! Audit logs: reads of service tokens that are recorded in them ([`TokenReads`]), and readers that [`follow()`] them.
//!
//! Only the writer appends to them. What people of the dashboard and administrators do is recorded in `http`, before it is answered.

mod filter;
mod follow;
mod log;
mod position;
mod sender;
mod token_reads;

pub use filter::AuditFilter;
pub use follow::{Followed, Following, follow};
pub use position::AuditPosition;
pub use sender::send;
pub use token_reads::{READS_QUEUED_MAX, READS_REMEMBERED_MAX, TokenRead, TokenReads, record_listing};
