//! `/v1/conversations/{id}/events`.

pub mod append_events;
pub mod append_lines;
pub mod append_request;
pub mod document;
pub mod lines;
pub mod list_recorded_events;
pub mod watch_recorded_conversation;
