//! JSON of conversations, events and logged calls, the same in every endpoint. Pure: facts become bodies, in bytes that do not change.
//!
//! It knows no listener, no state and no store. A body has the members that the OpenAPI description lists.

pub mod content;
pub mod conversation;
pub mod fact;
mod from_fact;
pub mod instant;
pub mod json_line;
pub mod provider_log;
