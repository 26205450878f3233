//! `/api/chats/{id}/stream`.

pub mod follow_chat;
