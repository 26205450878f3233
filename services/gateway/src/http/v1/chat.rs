//! `/v1/chat`: chats for programs that know only `{message, session_id}`, such as command lines and bots. A session is a
//! conversation of the caller.

pub mod send_turn;
pub mod sessions;
pub mod turn_messages;
