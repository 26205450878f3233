//! A context in the form that its reader wants, and a provider's answers as events. Pure: no I/O.
//!
//! One file or folder a format. Each writes a [`context::Transcript`] as the part of a request that carries the history,
//! by the rules of its provider, and reads a provider's replies (whole and streamed) and histories back as facts. What a
//! form cannot carry is told as a [`Loss`], never dropped in silence.

pub mod anthropic;
pub mod canonical;
mod chat;
pub mod format;
pub mod gemini;
pub mod loss;
pub mod names;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;
pub mod options;
pub mod registry;
pub mod rendered;
pub mod reply;

pub use format::Format;
pub use loss::{Became, Loss, Lost};
pub use names::Names;
pub use options::{CallOutputs, InstructionsRole, RenderOptions, Thoughts};
pub use registry::{parse_history, parse_reply, render};
pub use rendered::Rendered;
pub use reply::{Delta, ParseError, Reply};
