//! What a model should read next, before it takes a provider's form.
//!
//! The stages make it and the formats write it: instructions first and unchanging, then the opening, the turns by version,
//! and last what changes from one context to the next. So successive contexts share all that stands before it.

use domain::event::{Role, ToolCalled, ToolOutcome, ToolOutput};
use domain::{Label, Part, Version};

/// A context in no provider's form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transcript {
    /// Instructions, in order; none is blank. They stand first and stay put.
    pub instructions: Vec<String>,
    /// What stands for the turns that were left out: a summary, or a note that there were some. Not blank.
    pub opening: Option<String>,
    /// The turns, by version.
    pub turns: Vec<Turn>,
    /// What changes from one context to the next, last of all. Not blank.
    pub closing: Option<String>,
}

/// What one speaker says at once; an assistant's turn with its calls and all of their results: an atomic unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The version of its first event.
    pub version: Version,
    /// Who speaks.
    pub role: Role,
    /// What is said, in order; may be empty.
    pub parts: Vec<Part>,
    /// The speaker's name, where several share a role.
    pub author: Option<Label>,
    /// Whose model said it, where that is known.
    pub provider: Option<Label>,
    /// What stood before it when it was written.
    pub written: Written,
    /// The calls, in order; only an assistant's turn has any.
    pub calls: Vec<AnsweredCall>,
}

/// What stood before a turn with thoughts when it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Written {
    /// What stands before it in the context; so it is said of turns without thoughts too.
    #[default]
    BehindThis,
    /// Another beginning: a provider that verifies thoughts by what stands before them refuses the turn's.
    BehindAnother,
}

/// A call and its answer: there is always one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredCall {
    /// The version of the event that made it.
    pub version: Version,
    /// The call. Its id may repeat that of an earlier call of the conversation that has its result.
    pub called: ToolCalled,
    /// What the model reads as its result.
    pub answer: Answer,
}

/// What a model reads as a call's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What came back, or what stands for it.
    pub output: ToolOutput,
    /// Whether the tool did its work.
    pub outcome: ToolOutcome,
    /// Where it comes from.
    pub origin: AnswerOrigin,
}

/// Where an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerOrigin {
    /// The tool's result, of this version.
    Recorded(Version),
    /// The tool's result, of this version, was cleared: a stub stands for it.
    Cleared(Version),
    /// The call still waits: a note says so.
    Pending,
    /// No result came before the model went on: a note says so.
    Interrupted,
}
