//! `/v1/admin/conversations/{id}/events`.

pub mod list_events;
pub mod watch_conversation;
