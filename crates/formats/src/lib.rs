//! A context in the form that its reader wants, and a provider's answers as events. Pure: no I/O.
//!
//! One file or folder a format. Each writes a [`context::Transcript`] as the part of a request that carries the history,
//! by the rules of its provider, and reads a provider's replies (whole and streamed) and histories back as facts. What a
//! form cannot carry is told as a [`Loss`], never dropped in silence.

pub mod canonical;
pub mod format;
pub mod loss;
pub mod names;
pub mod options;
pub mod rendered;
pub mod reply;

pub use format::Format;
pub use loss::{Became, Loss, Lost};
pub use names::Names;
pub use options::{InstructionsRole, RenderOptions, Thoughts};
pub use rendered::Rendered;
pub use reply::{Delta, ParseError, Reply};
