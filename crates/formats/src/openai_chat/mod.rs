//! OpenAI chat completions, and the many servers that speak it.
//!
//! A flat list of messages. Rules upheld here: O1 the list and every list of parts has an entry; O2 an assistant's message
//! has content or calls; O3 a turn's calls stand in one message with its text, and their results follow at once, in
//! order; O4 instructions and results are text, arguments a JSON string; O5, O6 ids and names by [`crate::Names`],
//! `developer` by an option; O7 nothing is merged, so a growing conversation only appends.

mod content;
mod history;
mod incoming;
mod outgoing;
mod render;
mod reply;
mod stream;

#[cfg(test)]
mod tests;

pub use history::parse_history;
pub use outgoing::CACHE_KEY_CHARS_MAX;
pub use render::{NOTHING_SAID, render};
pub use reply::parse_reply;
pub use stream::ReplyStream;

/// What this format is called in errors.
const FORMAT: &str = "openai-chat";
/// Whose models speak it, as facts name them.
const PROVIDER: &str = "openai";
