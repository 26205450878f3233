//! Endpoints that have models answer: turns of chats, their streams, the AI SDK's own requests, and simple sessions.
//!
//! A `turn` starts a run, which goes on whoever listens; `listener` tells its parts to one client as server-sent events,
//! and `reply` gathers them into one answer. One endpoint a file.

#![expect(
    unused_qualifications,
    reason = "utoipa qualifies the types of queries that its macros find"
)]

pub mod ai_sdk;
pub mod approve_calls;
mod approvers;
mod behind;
mod client_results;
mod first_try;
pub mod follow_chat;
pub mod listener;
mod refusal;
mod reply;
mod roles;
pub mod said;
pub mod send_message;
pub mod session;
mod settled;
pub mod stop_chat;
mod turn;
