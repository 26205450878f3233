//! `/v1`: endpoints of administrators, and chats for simple programs.

mod admin;
mod chat;
mod conversations;
