//! Anthropic's messages: `system`, then `messages`.
//!
//! Rules and where they are implemented:
//! - A1, A6 (`list.rs`): `system` is top-level, adjacent messages of one role are merged, the user has the first and the last.
//! - A2 (`render.rs`): results are first in the next message.
//! - A3 (`turn.rs`): inputs are objects; calls are last in their message.
//! - A4 (`content.rs`, `list.rs`): no text and no message is empty.
//! - A5 (`content.rs`, `turn.rs`): Anthropic's own thoughts are rendered verbatim and first.
//! - A7: nothing before a thought depends on later turns, except cache breakpoints, which are not content.
//! - A3, A8 ([`crate::Names`]): names and ids are safe.
//! - A9 (`turn.rs`): the result of a failed call contains only texts.

mod blocks;
mod content;
mod errors;
mod history;
mod items;
mod list;
mod media;
mod object;
mod open_block;
mod parse;
mod render;
mod reply;
mod stream;
mod target;
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

/// The name of the provider in facts.
const PROVIDER: &str = "anthropic";
