//! What the parts of a run come to, what a page shows of a conversation, and what the stream to a page says. Pure: no I/O.
//!
//! The same parts are folded thrice: [`RunFold`] gives the facts that a run's end records, [`page()`] gives the messages that a
//! page shows (from the record, or from the record and the parts so far: equal at the end of every run), and [`UiStream`]
//! gives the chunks that make a client's page grow. The forms of messages, chunks and requests are those of the AI SDK's
//! UI message stream, version 1, as its releases 6 and 7 read and write them.

pub mod approvals;
pub mod coalesce;
pub mod denial;
mod ending;
pub mod fold;
pub mod page;
pub mod replay;
pub mod request;
mod shown;
pub mod sse;
mod step;
pub mod ui_chunk;
pub mod ui_message;
pub mod ui_stream;

pub use approvals::Approvals;
pub use coalesce::Coalescer;
pub use denial::{Denial, denied};
pub use fold::{FoldError, RunFold};
pub use page::{continued, page};
pub use replay::replay;
pub use request::{ChatRequest, InstructionRole, Said, ToolAnswer, Trigger};
pub use step::{OpenStep, Piece, StreamedCall, WordsKind};
pub use ui_chunk::UiChunk;
pub use ui_message::UiMessage;
pub use ui_stream::UiStream;
