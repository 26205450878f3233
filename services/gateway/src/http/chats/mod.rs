//! Conversations for frontends: each caller sees and changes their own. One endpoint a file.

#![expect(
    unused_qualifications,
    reason = "utoipa qualifies the types of queries that its macros find"
)]

pub mod begin_chat;
pub mod change_chat;
pub mod create_chat;
pub mod erase_chat;
pub mod erasure;
pub mod export;
pub mod export_chat;
pub mod fork_chat;
pub mod forks;
pub mod get_chat;
pub mod list_chats;
pub mod messages;
