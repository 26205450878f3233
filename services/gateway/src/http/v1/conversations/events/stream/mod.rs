//! `/v1/conversations/{id}/events/stream`.

pub mod watch_recorded_conversation;
