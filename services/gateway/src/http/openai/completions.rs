//! `/openai/v1/chat/completions`: an agent's model answers the messages of the request. Nothing is recorded, unless the request asks
//! for it: see [`recorded`].

pub mod create_completion;
mod encoder;
pub mod recorded;
