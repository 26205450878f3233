//! OpenAI Responses: `instructions` and a flat list of `input` items.
//!
//! Rules:
//! - R1, R2: the calls of a turn are together; their outputs follow directly, in the order of the calls.
//! - R3: a reasoning item is rendered with the item after it, or neither is.
//! - R4: messages, calls and outputs have no item id.
//! - R5, O5, O6: ids and names by [`crate::Names`].
//! - R6: no item is sent twice, and no stored item is referenced.
//! - R7: `instructions` are in every request; the `phase` of a message is kept.
//!
//! Nothing is merged, and the items of a turn do not depend on later turns, with two exceptions that the provider requires:
//! an item that the client must answer (`own_item`) is rendered only with its answer, and the text of an empty list
//! disappears with the first item.
//!
//! Reasoning and other items are recorded as [`domain::Part::ProviderItem`]s of `openai`, verbatim. Messages and calls have
//! canonical forms. Their other data (`phase`, position among reasoning items) is recorded in a small item of ours, a mark
//! (`own_item::OwnItem`). Annotations and log probabilities of an output text are not recorded.

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

pub use history::parse_history;
pub use render::{EMPTY_INPUT, render};
pub use reply::{REPLY_BYTES_MAX, parse_reply};
pub use stream::ReplyStream;

/// Whose items these are, as facts name a provider.
const PROVIDER: &str = "openai";
