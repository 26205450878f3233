//! The canonical format: Hansard's own, without losses. It can be converted to the format of every provider.
//!
//! [`messages()`] is the flat list for gRPC readers. [`render()`] writes a whole context as JSON, and [`parse()`] parses it.

mod history;
mod json;
mod messages;
mod parse;
mod render;

pub use history::parse_history;
pub use messages::{Message, MessageKind, Turn, messages};
pub use parse::parse;
pub use render::render;
