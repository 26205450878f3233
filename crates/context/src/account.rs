//! How a context came about: what a receipt tells of it.

use domain::{CallId, Version};

use crate::stages::clear::Cleared;
use crate::stages::redact::Redactions;
use crate::stages::tool_digest::Told;

/// How a context came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// What its beginning hangs on.
    pub epoch: Epoch,
    /// Tokens by section.
    pub sections: Sections,
    /// The tokens that there were for turns.
    pub room: u64,
    /// The turns that were left out for want of room.
    pub left_out: Option<LeftOut>,
    /// The version up to which a summary stands for the turns.
    pub summarised: Option<Version>,
    /// The last version of the conversation's own instructions that went in with the policy's; 0: none did.
    pub own_instructions: Version,
    /// The versions up to the summary's end that went in all the same, ascending: their unit has an event behind it.
    pub carried: Vec<Version>,
    /// Tool results that were cleared.
    pub cleared: Vec<Cleared>,
    /// What the digest of tool calls tells; none where there is to be none.
    pub digest: Option<Told>,
    /// What was redacted.
    pub redactions: Redactions,
    /// The versions of messages and calls that repeat earlier ones and were left out.
    pub repeated: Vec<Version>,
    /// The versions of results without a call, which were left out.
    pub orphans: Vec<Version>,
    /// The calls that wait, in order.
    pub pending: Vec<CallId>,
    /// The calls that were interrupted, in order.
    pub interrupted: Vec<CallId>,
}

impl Account {
    /// Whether what the conversation begins with is not among the turns.
    #[must_use]
    pub fn is_without_the_beginning(&self) -> bool {
        self.left_out.is_some() || self.summarised.is_some()
    }
}

/// What the beginning of a context hangs on. Contexts of one conversation and policy with equal epochs begin alike: the
/// later one has the turns of the earlier, but for answers that its newest turn still waited for, and more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Epoch {
    /// The version of the first turn; 0: there is none.
    pub first: Version,
    /// The tokens of the conversation before which tool results are cleared.
    pub line: u64,
    /// The version of the summary; 0: none.
    pub summary: Version,
    /// The newest version at which an earlier turn came to read otherwise, or to be without its thoughts; 0: none did.
    pub revised: Version,
}

/// Turns that were left out, all before the first one that was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// The version before which nothing went in.
    pub before: Version,
    /// What they weigh, those that a summary stands for among them.
    pub tokens: u64,
    /// Why.
    pub reason: Reason,
}

/// Why turns were left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The budget.
    Budget,
    /// A bound on messages, or on what is read.
    Bound,
}

/// Tokens by section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sections {
    /// The instructions.
    pub instructions: u64,
    /// What stands for the turns that were left out.
    pub opening: u64,
    /// The turns.
    pub turns: u64,
    /// What changes from one context to the next.
    pub closing: u64,
}

impl Sections {
    /// What does not hang on turns.
    #[must_use]
    pub fn fixed(&self) -> u64 {
        self.instructions + self.opening + self.closing
    }
}
