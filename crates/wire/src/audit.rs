//! Audit logs: one conversation for each tenant and month, whose events have one [`AuditEntry`] each. The writer appends them, the
//! gateway reads them.

mod entry;
mod month;

pub use entry::{AuditActor, AuditEntry};
pub use month::AuditMonth;
