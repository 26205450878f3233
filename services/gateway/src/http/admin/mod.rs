//! What administrators see of their tenant. One endpoint a file.

#![expect(
    unused_qualifications,
    reason = "utoipa qualifies the types of queries that its macros find"
)]

pub mod get_conversation;
pub mod get_provider_log;
pub mod get_usage;
pub mod list_conversations;
pub mod list_events;
pub mod list_provider_logs;
