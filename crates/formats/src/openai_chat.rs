//! OpenAI chat completions, and compatible servers.
//!
//! A flat list of messages. Rules:
//! - O1: the list and every list of parts has at least one entry.
//! - O2: an assistant message has content or calls.
//! - O3: the calls of a turn are in one message with its text; their results follow directly, in order.
//! - O4: instructions and results are text; arguments are a JSON string.
//! - O5, O6: ids and names by [`crate::Names`]; `developer` by an option.
//! - O7: nothing is merged, so a new turn only appends.

mod content;
mod history;
mod incoming;
mod outgoing;
mod render;
mod reply;

#[cfg(test)]
mod tests;

pub use history::parse_history;
pub use render::{NOTHING_SAID, render};
pub use reply::{ReplyStream, parse_reply};

/// The name of the format in errors.
const FORMAT: &str = "openai-chat";
/// The name of the provider in facts.
const PROVIDER: &str = "openai";
