//! `/api/chats/{id}/messages`.

pub mod send_message;
