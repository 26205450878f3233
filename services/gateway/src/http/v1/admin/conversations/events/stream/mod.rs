//! `/v1/admin/conversations/{id}/events/stream`.

pub mod watch_conversation;
