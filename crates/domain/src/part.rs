//! The streamed pieces of a run.

use crate::event::{ErrorOccurred, Fact, ToolReturned};
use crate::id::{CallId, ToolName};
use crate::run::RunOutcome;

/// One streamed piece of a run, with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPart {
    /// Its number in its run: 1, 2, 3 … without gaps.
    pub number: u64,
    /// Its content.
    pub kind: RunPartKind,
}

/// The content of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunPartKind {
    /// More of the assistant's text.
    TextDelta(String),
    /// More of a thought.
    ThinkingDelta(String),
    /// More of a refusal.
    RefusalDelta(String),
    /// A tool call begins.
    CallBegan {
        /// The index of the call in the step, from 0.
        index: u32,
        /// The call.
        call_id: CallId,
        /// The tool.
        tool_name: ToolName,
    },
    /// More of a call's input.
    CallInput {
        /// The index of the call in the step.
        index: u32,
        /// The next piece of its JSON text.
        fragment: String,
    },
    /// The model's reply is complete: its message, then its calls. They replace all deltas since the last step.
    StepFinished(Vec<Fact>),
    /// A tool returned a result.
    ToolReturned(ToolReturned),
    /// The run is still active.
    KeptAlive,
    /// The run ended: no part follows.
    RunEnded(RunEnd),
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// How it ended.
    pub outcome: RunOutcome,
    /// The error of a failed run.
    pub error: Option<ErrorOccurred>,
}
