//! How a context was assembled. Receipts are computed from it.

use domain::Version;

use crate::outcome::{Effect, Outcome};
use crate::stages::redact::Redactions;

/// How a context was assembled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What identifies the prefix.
    pub epoch: Epoch,
    /// Tokens by section.
    pub sections: Sections,
    /// The tokens available for turns.
    pub room: u64,
    /// The older turns that were omitted.
    pub left_out: Option<LeftOut>,
    /// The last version that the summary covers.
    pub summarised: Option<Version>,
    /// The last version of the conversation's own instructions that were moved to the policy's; 0: none.
    pub own_instructions: Version,
    /// What was redacted.
    pub redactions: Redactions,
    /// What the stages did with the versions that they omitted or changed.
    pub outcomes: Vec<Outcome>,
}

impl Report {
    /// Whether the conversation's first turns are missing from the context.
    #[must_use]
    pub fn is_without_the_beginning(&self) -> bool {
        self.left_out.is_some() || self.summarised.is_some()
    }
}

/// Identifies the prefix of a context. Contexts of one conversation and policy with equal epochs share their prefix: the later
/// one has the turns of the earlier one, with results that were pending there, and newer turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Epoch {
    /// The version of the first turn; 0: there is none.
    pub first: Version,
    /// Tool results before this token count of the conversation are cleared.
    pub threshold: u64,
    /// The version of the summary; 0: none.
    pub summary: Version,
    /// The newest version at which an earlier turn changed or lost its thoughts; 0: none.
    pub revised: Version,
}

/// Omitted turns. All of them are older than the first turn of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// The version of the first turn of the context.
    pub before: Version,
    /// Their tokens, including turns that a summary covers.
    pub tokens: u64,
    /// The reason.
    pub reason: Reason,
}

/// Why turns were omitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The budget.
    Budget,
    /// A bound on messages, or on what is read.
    Bound,
}

impl Reason {
    pub(crate) fn effect(self) -> Effect {
        match self {
            Self::Budget => Effect::OverBudget,
            Self::Bound => Effect::OverBound,
        }
    }
}

/// Tokens by section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sections {
    /// The instructions.
    pub instructions: u64,
    /// The summary, or the note that turns were omitted.
    pub opening: u64,
    /// The turns.
    pub turns: u64,
    /// The digest of tool calls.
    pub closing: u64,
}

impl Sections {
    /// The sections that do not depend on turns.
    #[must_use]
    pub fn fixed(&self) -> u64 {
        self.instructions + self.opening + self.closing
    }
}
