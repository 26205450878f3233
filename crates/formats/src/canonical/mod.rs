//! The canonical form: Hansard's own, which every provider's format can be made from. Nothing is lost in it.
//!
//! [`messages()`] are what gRPC readers get, flat; [`render()`] writes a whole context as JSON, and [`parse()`] reads it back.

mod history;
mod json;
mod messages;
mod parse;
mod render;

pub use history::parse_history;
pub use messages::{Message, MessageKind, Turn, messages};
pub use parse::parse;
pub use render::render;
