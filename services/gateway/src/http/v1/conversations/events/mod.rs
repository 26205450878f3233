//! `/v1/conversations/{id}/events`.

pub mod append_events;
pub mod list_events;
