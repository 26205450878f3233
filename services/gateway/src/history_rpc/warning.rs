//! What a caller is told where its history is not all that it could be.

use wire::proto::history::v1 as proto;

/// Why the history is not all that it could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Warning {
    /// No candidate is a key.
    NoValidKey,
    /// Rows, record or writer did not answer, or not sensibly.
    Unavailable,
    /// The conversation under the key's id belongs to another owner than the key's channel.
    OwnerMismatch,
    /// Others were faster at every try.
    Conflict,
    /// An earlier call recorded something under the same idempotency key.
    KeyReused,
    /// The conversation is closed for events.
    Archived,
    /// The conversation is gone for good.
    Erased,
}

impl Warning {
    /// The code, as callers and metrics read it. Stable for ever.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::NoValidKey => "NO_VALID_KEY",
            Self::Unavailable => "HISTORY_UNAVAILABLE",
            Self::OwnerMismatch => "OWNER_MISMATCH",
            Self::Conflict => "CONFLICT",
            Self::KeyReused => "IDEMPOTENCY_KEY_REUSED",
            Self::Archived => "CONVERSATION_ARCHIVED",
            Self::Erased => "CONVERSATION_ERASED",
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::NoValidKey => {
                "no candidate is a valid key, so nothing was read or recorded: see refused_keys"
            }
            Self::Unavailable => {
                "the history store did not answer: go on with your own messages, and record them again later"
            }
            Self::OwnerMismatch => {
                "the conversation under this key's id is not the key's channel's, so nothing was read or recorded: erase it, or use another key or namespace"
            }
            Self::Conflict => "others recorded at the same time, again and again: record again",
            Self::KeyReused => {
                "an earlier call with this idempotency_key recorded something: give every call a key of its own"
            }
            Self::Archived => "the conversation is archived, so nothing was recorded: restore it",
            Self::Erased => {
                "the conversation was erased, so nothing was recorded: use another key or namespace"
            }
        }
    }

    pub(super) fn to_proto(self) -> proto::HistoryWarning {
        proto::HistoryWarning {
            code: self.code().to_owned(),
            message: self.message().to_owned(),
        }
    }
}
