//! `/v1/chat/sessions/{id}/messages`.

pub mod list_messages;
