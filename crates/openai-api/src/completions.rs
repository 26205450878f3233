//! Chat Completions: requests, whole answers and chunks of streamed ones.

pub mod answer;
pub mod chunks;
pub mod options;
pub mod request;
mod sent_step;
pub mod tools;
