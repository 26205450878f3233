//! `/openai/v1/chat/completions`: an agent's model answers the messages of the request. Nothing is recorded, unless the request asks
//! for it: see [`recorded`].

pub mod answer;
pub mod chunks;
pub mod create_completion;
mod encoder;
pub mod options;
pub mod recorded;
pub mod request;
mod sent_step;
pub mod tools;

pub use options::STOP_MAX;
pub use request::{COMPLETION_BYTES_MAX, COMPLETION_EVENTS_MAX};
