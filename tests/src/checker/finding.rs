//! What does not fit.

use std::fmt;

use domain::ConversationKey;

/// One thing that does not fit, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// In which conversation.
    pub conversation: ConversationKey,
    /// Which commit, version or column, and how it differs.
    pub detail: String,
}

impl Finding {
    /// A finding in a conversation.
    pub fn new(kind: Kind, conversation: &ConversationKey, detail: impl Into<String>) -> Self {
        Self {
            kind,
            conversation: conversation.clone(),
            detail: detail.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConversationKey {
            tenant,
            conversation,
        } = &self.conversation;
        write!(
            f,
            "{:?} in {tenant}/{conversation}: {}",
            self.kind, self.detail
        )
    }
}

/// The kinds of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A commit was acknowledged and is not in the record.
    Lost(Place),
    /// A commit is in the record more than once.
    Doubled,
    /// Commits stand in another order than the answers, or the stream that they were sent on, allow.
    OutOfOrder,
    /// Versions are missing.
    Gap,
    /// Two commits begin at the same version.
    Fork,
    /// A commit that nobody asked for, or that was refused, or whose events are not those that were asked for.
    Unasked,
    /// The answer says otherwise than the record.
    WrongAnswer,
    /// The hash chain does not follow from the bodies.
    BrokenChain,
    /// The head that a commit carries is not the fold of what it follows.
    WrongHead,
    /// The time of record went back.
    TimeWentBack,
    /// A result without its call, a call twice, or an event where the status allows none.
    RuleBroken,
    /// A commit stands in a stream or under a subject that is not its conversation's.
    Misplaced,
    /// An erased conversation still has something that it should not.
    NotErased,
    /// A conversation is parked: it could not be projected.
    Parked,
    /// A row is missing.
    RowMissing,
    /// A row that nothing in the record accounts for.
    RowUnfounded,
    /// A row's column is not what the record says.
    RowDiffers,
    /// A fresh read did not hold what had been acknowledged before it began.
    StaleRead,
    /// A reader was told otherwise than the record says.
    ReadingDiffers,
}

/// Where among its conversation's acknowledged commits one stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Before all others.
    First,
    /// Between others.
    Middle,
    /// After all others.
    Last,
}
