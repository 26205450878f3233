//! Completions that are recorded in a conversation. The client sends its whole history with each request; what is new is recorded,
//! and a run answers.
//!
//! [`client_headers`] decides whether a request is recorded, `exchange` answers it: `conversation` finds or creates its
//! conversation, `comparable` and `plan` compare the sent history with the effective one, which `stored_history` reads, and
//! `start` records what is new and starts the run.

pub mod client_headers;
mod comparable;
mod conversation;
mod exchange;
mod plan;
mod start;
mod stored_history;

pub use client_headers::CLIENT_VALUE_BYTES_MAX;
pub(super) use exchange::Exchange;
