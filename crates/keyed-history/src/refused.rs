//! Why a candidate is no key.

/// A candidate that is no key, as the caller wrote it: what its variables hold is not told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The template or literal.
    pub candidate: String,
    /// What is wrong with it.
    pub reason: RefusedReason,
}

/// What makes a candidate no key, in the order in which it is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusedReason {
    /// Nothing is in it, or nothing is in one of its variables: `telegram:` would be everybody's key.
    Empty,
    /// A variable is missing, or holds a list, an object, nothing, or a template of its own.
    Unresolved,
    /// Over [`crate::bounds::KEY_CHARS_MAX`].
    TooLong,
    /// A character that no key has, see [`crate::key::HistoryKey`].
    BadCharacters,
}

impl RefusedReason {
    /// Every reason.
    pub const ALL: [Self; 4] = [
        Self::Empty,
        Self::Unresolved,
        Self::TooLong,
        Self::BadCharacters,
    ];

    /// The reason as callers and metrics read it. Stable for ever.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "EMPTY",
            Self::Unresolved => "UNRESOLVED",
            Self::TooLong => "TOO_LONG",
            Self::BadCharacters => "BAD_CHARACTERS",
        }
    }
}
