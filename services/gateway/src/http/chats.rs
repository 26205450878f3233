//! `/api/chats`: conversations for frontends. Each caller reads and changes their own.

#![expect(unused_qualifications, reason = "utoipa qualifies the types of queries that its macros find")]

pub mod change_chat;
pub mod chat_message;
pub mod create_chat;
pub mod erase_chat;
pub mod export_chat;
pub mod follow_chat;
pub mod fork_chat;
pub mod get_chat;
pub mod list_chats;
pub mod send_message;
pub mod stop_chat;
pub mod watch_chat;
