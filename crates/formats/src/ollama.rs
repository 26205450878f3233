//! Ollama's `/api/chat`.
//!
//! A flat list of text messages. Rules:
//! - L1: content is a string; images are separate.
//! - L2: arguments are an object; results name their tool and call.
//! - L3: calls and results are together, as in O3.
//! - L4: the first message is the system's.
//! - L5: truncation is off, and the size of the context window is sent.
//! - L6: `think` is never sent.
//!
//! Ids and names are those of [`crate::Names`].

mod content;
mod history;
mod outgoing;
mod picture;
mod render;
mod reply;

#[cfg(test)]
mod tests;

pub use history::parse_history;
pub use render::{INSTRUCTIONS, render};
pub use reply::{ReplyStream, parse_reply};

/// The name of the format in errors.
const FORMAT: &str = "ollama";
/// The name of the provider in facts.
const PROVIDER: &str = "ollama";
