//! `/api/chat/{id}/stream`.

pub mod follow_ui_chat;
