//! OpenAI's items: their ids, and the conversion from and to recorded events. Pure: no I/O.
//!
//! A message is a `MessageAppended`, a function call a `ToolCalled`, its output a `ToolReturned`, so that contexts, pages and
//! exports contain them. Items of other types are recorded verbatim, as a provider item in a message of the assistant. What a
//! fact does not contain (status, annotations, log probabilities, unknown members) is in the event's metadata, see `note`.

mod content;
pub mod item_id;
mod members;
pub mod new_item;
mod note;
pub mod open_calls;
pub mod stored_item;

/// Whose items these are, as facts name a provider.
const PROVIDER: &str = "openai";
