//! `/v1`: the record for back ends, administrators' endpoints, chats for simple programs, limits.

#![expect(unused_qualifications, reason = "utoipa qualifies the types of queries that its macros find")]

pub mod admin;
pub mod chat;
pub mod conversations;
pub mod documents;
pub mod frontend_body;
pub mod get_limits;
pub mod histories;
pub mod new_events;
pub mod search_conversations;
