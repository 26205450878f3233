//! Candidates that are not valid keys.

/// A candidate that is not a valid key. It does not contain the values of its variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedKey {
    /// The template or literal.
    pub candidate: String,
    /// The broken rule.
    pub reason: RefusedReason,
}

/// Why a candidate is not a key, in the order of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusedReason {
    /// It is empty, or one of its variables is empty: `telegram:` would be the same key for every chat.
    Empty,
    /// A variable is missing, or its value is a list, an object, null or a template.
    Unresolved,
    /// Over [`crate::bounds::KEY_CHARS_MAX`].
    TooLong,
    /// A character that is not allowed in keys, see [`crate::key::HistoryKey`].
    BadCharacters,
}

impl RefusedReason {
    /// Every reason.
    pub const ALL: [Self; 4] = [Self::Empty, Self::Unresolved, Self::TooLong, Self::BadCharacters];

    /// The name of the reason for callers and metrics. It never changes.
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
