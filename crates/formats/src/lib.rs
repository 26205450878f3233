//! Renders contexts in the formats of providers, and parses their replies into facts. Pure: no I/O.
//!
//! One file or folder per format. Each renders a [`context::Transcript`] as the part of a request that contains the history,
//! by the rules of its provider, and parses replies (whole and streamed) and histories into facts. Content that a format
//! cannot represent is listed as a [`Loss`].
//!
//! A rule of a provider has an id, such as A5: a letter for the provider's API, and a number. `docs/reference/provider-rules.md` lists
//! them all.

pub mod anthropic;
pub mod canonical;
mod chat;
pub mod gemini;
pub mod loss;
pub mod names;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;
pub mod options;
pub mod outline;
mod pictures;
pub mod registry;
pub mod rendered;
pub mod reply;
mod request;
mod values;

#[cfg(test)]
mod tests;

pub use loss::{Loss, LostContent, Replacement};
pub use names::Names;
pub use options::{CallOutputs, InstructionsRole, RenderOptions, Thoughts};
pub use outline::{Outline, Piece, Section, pieces};
pub use registry::{Format, parse_history, parse_reply, render};
pub use rendered::Rendered;
pub use reply::{Delta, ParseError, Reply};
pub use request::{RequestOptions, RequestSettings, TOOLS_MAX, Tool, ToolChoice};
