//! `/v1/admin/conversations`.

pub mod approve_calls;
pub mod events;
pub mod export_conversation;
pub mod get_conversation;
pub mod list_conversations;
