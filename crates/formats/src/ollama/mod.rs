//! Ollama's `/api/chat`.
//!
//! A flat list of messages of text. Rules upheld here: L1 a content is a string, pictures stand apart; L2 arguments are an
//! object, results name their tool and call; L3 calls and results stand together, as O3 asks; L4 the first message is the
//! system's; L5 the server truncates nothing and is told the context's size; L6 `think` is never sent. Ids and names are
//! [`crate::Names`]'.

mod content;
mod history;
mod outgoing;
mod picture;
mod render;
mod reply;
mod stream;

#[cfg(test)]
mod tests;

pub use history::parse_history;
pub use render::{INSTRUCTIONS, render};
pub use reply::parse_reply;
pub use stream::ReplyStream;

/// What this format is called in errors.
const FORMAT: &str = "ollama";
/// Whose models speak it, as facts name them.
const PROVIDER: &str = "ollama";
