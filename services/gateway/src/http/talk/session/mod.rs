//! Chats for programs that know only `{message, session_id}`: command lines, bots. A session is a conversation of the caller's.

pub mod chat;
pub mod create_session;

mod failed_turn;
pub mod given;
mod history;
pub mod list_messages;
pub mod list_sessions;
mod patient;
