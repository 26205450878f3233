//! `/v1`: administrators' endpoints, and chats for simple programs.

mod admin;
mod chat;
mod conversations;
