//! OpenAI Responses: `instructions` and a flat list of `input` items.
//!
//! Upholds R1 and R2 (a turn's calls stand together, their outputs follow at once, in the order of the calls), R3 (a
//! reasoning item goes with the item after it, or neither goes), R4 (messages, calls and outputs carry no item id),
//! R5 with O5 and O6 (ids and names by [`crate::Names`]), R6 (no item twice, no reference to a stored one) and R7
//! (`instructions` are sent every time, a message's `phase` is kept). Nothing is merged, and what is written of a turn
//! depends on no later turn, with two exceptions that the provider forces: an item that waits for the client's answer
//! (`own_item`) appears once the answer is there, and the words that stand for an empty list vanish with it.
//!
//! Reasoning and the provider's other items are kept as [`domain::Part::ProviderItem`]s of `openai`, verbatim. What a
//! message or call says has its canonical form; where more has to be kept of one (its `phase`, its place among
//! reasoning items), a small item of ours stands at its place: a mark (`own_item::Own`). Annotations and log
//! probabilities of an output text are not kept.

mod assistant;
mod body;
mod content;
mod decode;
mod draft;
mod history;
mod media;
mod own_item;
mod parts;
mod pieces;
mod read;
mod render;
mod reply;
mod stream;
#[cfg(test)]
mod testing;
mod usage;

pub use history::parse_history;
pub use render::{CACHE_KEY_CHARS_MAX, EMPTY_INPUT, render};
pub use reply::{REPLY_BYTES_MAX, parse_reply};
pub use stream::ReplyStream;

/// Whose items these are, as facts name a provider.
const PROVIDER: &str = "openai";
