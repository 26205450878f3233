//! `/v1/admin/conversations`.

pub mod approve_calls;
pub mod get_conversation;
pub mod list_conversations;
pub mod list_events;
