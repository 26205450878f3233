//! A context before it is rendered for a provider.
//!
//! The order never changes: instructions, the opening, turns by version, and last the section that changes with every context.
//! So successive contexts share their prefix.

use domain::event::{Role, ToolCalled, ToolOutcome, ToolOutput};
use domain::{Label, Part, Version};

/// A context that is independent of providers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transcript {
    /// Instructions, in order; none is blank. They come first and do not change.
    pub instructions: Vec<String>,
    /// What replaces omitted turns: a summary or a note. Not blank.
    pub opening: Option<String>,
    /// The turns, by version.
    pub turns: Vec<Turn>,
    /// The section that changes with every context. It comes last. Not blank.
    pub closing: Option<String>,
}

/// A turn of one speaker. An assistant's turn includes its calls and all of their results: an atomic unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The version of its first event.
    pub version: Version,
    /// Who speaks.
    pub role: Role,
    /// The content, in order; may be empty.
    pub parts: Vec<Part>,
    /// The speaker's name, where several share a role.
    pub author: Option<Label>,
    /// The provider whose model wrote it, if known.
    pub provider: Option<Label>,
    /// The prefix that it was written after.
    pub written: Written,
    /// The calls, in order; only an assistant's turn has any.
    pub calls: Vec<AnsweredCall>,
}

impl Turn {
    /// The versions of the turn and of its calls and their results, ascending but for late results.
    pub(crate) fn versions(&self) -> impl Iterator<Item = Version> + '_ {
        let calls = self.calls.iter().flat_map(|call| std::iter::once(call.version).chain(call.answer.origin.result()));
        std::iter::once(self.version).chain(calls)
    }
}

impl AnswerOrigin {
    /// The version of the result; none where there is none.
    #[must_use]
    pub fn result(self) -> Option<Version> {
        match self {
            Self::Recorded(version) | Self::Cleared(version) => Some(version),
            Self::Pending | Self::Interrupted => None,
        }
    }
}

/// The prefix that a turn with thoughts was written after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Written {
    /// The prefix of this context, or the turn has no thoughts.
    #[default]
    BehindThis,
    /// Another prefix: a provider that verifies thoughts by their prefix rejects the turn's thoughts.
    BehindAnother,
}

/// A call with its answer. Every call has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredCall {
    /// The version of the event that made it.
    pub version: Version,
    /// The call. Its id may equal that of an earlier call that has a result.
    pub called: ToolCalled,
    /// The result that the model reads.
    pub answer: Answer,
}

/// The result of a call that a model reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The tool's output, or its replacement.
    pub output: ToolOutput,
    /// Whether the tool succeeded.
    pub outcome: ToolOutcome,
    /// Its origin.
    pub origin: AnswerOrigin,
}

/// The origin of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerOrigin {
    /// The tool's result, recorded at this version.
    Recorded(Version),
    /// A stub of the tool's result, which was recorded at this version.
    Cleared(Version),
    /// A note: the call is pending.
    Pending,
    /// A note: the model continued before a result was recorded.
    Interrupted,
}
