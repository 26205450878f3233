//! Findings: the differences that the checker reports.

use std::fmt;

use domain::ConversationKey;

/// One difference, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The kind of the difference.
    pub kind: Kind,
    /// The conversation.
    pub conversation: ConversationKey,
    /// The commit, version or column, and the difference.
    pub detail: String,
}

impl Finding {
    /// A finding in a conversation.
    pub fn new(kind: Kind, conversation: &ConversationKey, detail: impl Into<String>) -> Self {
        Self { kind, conversation: conversation.clone(), detail: detail.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConversationKey { tenant, conversation } = &self.conversation;
        write!(f, "{:?} in {tenant}/{conversation}: {}", self.kind, self.detail)
    }
}

/// The kinds of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A commit was acknowledged and is not in the record.
    Lost(Place),
    /// A commit is in the record more than once.
    Doubled,
    /// The order of commits contradicts the answers, or the order on their stream.
    OutOfOrder,
    /// Versions are missing.
    Gap,
    /// Two commits begin at the same version.
    Fork,
    /// A commit that nobody requested, that was rejected, or that has other events than requested.
    Unasked,
    /// The answer differs from the record.
    WrongAnswer,
    /// The hash chain does not follow from the bodies.
    BrokenChain,
    /// The head of a commit is not the fold of the history.
    WrongHead,
    /// The time of record went back.
    TimeWentBack,
    /// A result without its call, a duplicate call, or an event that the status does not allow.
    RuleBroken,
    /// A commit is in the wrong stream or under the wrong subject.
    Misplaced,
    /// An erased conversation still has content.
    NotErased,
    /// A conversation is parked: it could not be projected.
    Parked,
    /// A row is missing.
    RowMissing,
    /// A row without a cause in the record.
    RowUnfounded,
    /// A column of a row differs from the record.
    RowDiffers,
    /// A fresh read lacked an event that was acknowledged before the read began.
    StaleRead,
    /// An answer to a reader differs from the record.
    ReadingDiffers,
}

/// The position of a lost commit among the acknowledged commits of its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Before all others.
    First,
    /// Between others.
    Middle,
    /// After all others.
    Last,
}
