//! The streamed pieces of a generation.

use crate::event::{ErrorOccurred, Fact, ToolReturned};
use crate::id::{CallId, ToolName};
use crate::run::RunOutcome;

/// One streamed piece of a run, in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPart {
    /// Its number in its run: 1, 2, 3 … without gaps.
    pub number: u64,
    /// What the piece is.
    pub kind: RunPartKind,
}

/// What a piece is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunPartKind {
    /// More of the assistant's text.
    TextDelta(String),
    /// More of a thought.
    ThinkingDelta(String),
    /// More of a refusal.
    RefusalDelta(String),
    /// The model begins to call a tool.
    CallBegan {
        /// Which call of the step, counted from 0.
        index: u32,
        /// The call.
        call_id: CallId,
        /// The tool.
        tool_name: ToolName,
    },
    /// More of a call's input.
    CallInput {
        /// Which call of the step.
        index: u32,
        /// What is added to its JSON text.
        fragment: String,
    },
    /// The model's answer is complete: its message, then its calls. They stand for all deltas since the last step.
    StepFinished(Vec<Fact>),
    /// A tool has answered.
    ToolReturned(ToolReturned),
    /// The run still goes on.
    KeptAlive,
    /// The run is over: nothing follows.
    RunEnded(RunEnd),
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// How it ended.
    pub outcome: RunOutcome,
    /// What failed, where it failed.
    pub error: Option<ErrorOccurred>,
}
