//! Warnings: why a history is incomplete, or why messages were not recorded.

/// A warning in the answer of a history call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warning {
    /// No candidate is a valid key.
    NoValidKey,
    /// Rows, record or writer are unavailable.
    Unavailable,
    /// The conversation under the key's id belongs to another owner than the key's channel.
    OwnerMismatch,
    /// Each attempt lost a race against another call.
    Conflict,
    /// An earlier call used the same idempotency key for other messages.
    KeyReused,
    /// The conversation is archived.
    Archived,
    /// The conversation is erased.
    Erased,
}

impl Warning {
    /// The code in answers and metrics. It never changes.
    #[must_use]
    pub fn code(self) -> &'static str {
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

    /// The meaning and the remedy, for people.
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            Self::NoValidKey => "no candidate is a valid key: nothing was read or recorded; see refused_keys",
            Self::Unavailable => {
                "the history store did not answer: continue with your own messages and record them again later"
            }
            Self::OwnerMismatch => {
                "the conversation under this key's id does not belong to the key's channel: nothing was read or recorded; erase it, or use another key or namespace"
            }
            Self::Conflict => "other calls recorded at the same time at each attempt: record again",
            Self::KeyReused => {
                "an earlier call used this idempotency_key for other messages: use a new key for each call"
            }
            Self::Archived => "the conversation is archived: nothing was recorded; restore it first",
            Self::Erased => "the conversation is erased: nothing was recorded; use another key or namespace",
        }
    }

    /// Logs the warning that the caller of this conversation receives; `None`: its id is unknown.
    pub(super) fn log(self, conversation: Option<&str>) {
        tracing::warn!(
            conversation.id = conversation.unwrap_or_default(),
            code = self.code(),
            "a history call returns a warning"
        );
    }
}
