//! `/api/chats/{id}/events`.

pub mod watch_chat;
