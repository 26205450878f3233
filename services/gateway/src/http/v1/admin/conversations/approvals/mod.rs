//! `/v1/admin/conversations/{id}/approvals`.

pub mod approve_calls;
