//! Folds run parts into facts, UI messages and UI chunks. Pure: no I/O.
//!
//! - [`RunFold`] computes the facts that the end of a run records.
//! - [`page()`] computes the messages of a page, from recorded events and the parts of the active run.
//! - [`Outcome`] says how an answer ended.
//! - [`UiStream`] computes the chunks that update the page of a client.
//!
//! At the end of a run all agree. Messages, chunks and requests have the formats of the AI SDK's UI message stream,
//! version 1 (AI SDK 6 and 7).

pub mod approvals;
pub mod coalesce;
pub mod data_part;
pub mod denial;
pub mod disclosure;
pub mod fold;
pub mod outcome;
pub mod page;
pub mod replay;
pub mod request;
mod run_end;
pub mod sse;
mod step;
pub mod ui_chunk;
pub mod ui_message;
mod ui_part;
pub mod ui_stream;

pub use approvals::Approvals;
pub use coalesce::Coalescer;
pub use denial::{Denial, denial_result};
pub use disclosure::{Disclosure, ToolDetail};
pub use fold::{FoldError, RunFold};
pub use outcome::{Interruption, Outcome};
pub use page::{continued_message, page};
pub use replay::replay;
pub use request::{ChatRequest, InstructionRole, ToolAnswer, Trigger, UserMessage};
pub use step::{DeltaKind, OpenStep, Piece, StreamedCall};
pub use ui_chunk::{FinishReason, UiChunk};
pub use ui_message::UiMessage;
pub use ui_stream::UiStream;
