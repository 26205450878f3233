//! Anthropic's messages: `system`, then `messages`.
//!
//! What is upheld, and where: `system` is top-level, neighbours of one role are one message, the first is the user's and so
//! is the last (A1, A6: `list.rs`); results come next and first (A2: `render.rs`); inputs are objects, calls come last (A3:
//! `turn.rs`); nothing is empty (A4: `content.rs`, `list.rs`); thoughts of Anthropic's own go back verbatim and stand first
//! (A5: `content.rs`, `turn.rs`); nothing before a thought changes with what comes after it (A7), but for the
//! breakpoints of the cache, which are no content; names and ids are safe (A3, A8: [`crate::Names`]); a result of a failed call
//! is texts (A9: `turn.rs`).

mod blocks;
mod breakpoints;
mod content;
mod errors;
mod history;
mod items;
mod list;
mod media;
mod object;
mod open_block;
mod place;
mod reading;
mod render;
mod reply;
mod stream;
#[cfg(test)]
mod tests;
mod turn;

pub use content::INSTRUCTIONS_FRAME;
pub use history::parse_history;
pub use list::{CONTINUE, OPENER};
pub use render::render;
pub use reply::{REPLY_BYTES_MAX, parse_reply};
pub use stream::ReplyStream;
pub use turn::FAILED;

/// Anthropic, as facts name a provider.
const PROVIDER: &str = "anthropic";
