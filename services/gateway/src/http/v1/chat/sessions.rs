//! `/v1/chat/sessions`.

pub mod create_session;
pub mod list_messages;
pub mod list_sessions;
