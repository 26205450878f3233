//! What an event weighs in a context.

/// Tokens of an event, counted once when it was appended, by one tokenizer for all models.
///
/// Zero throughout: not counted, as in records that are older than the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct EventTokens {
    /// What a model reads of the event, at most.
    pub own: u32,
    /// The sum over this and all earlier messages, calls and results of the conversation, as far as they were counted. A fork
    /// counts its own alone: readers add what stands behind it.
    pub through: u64,
}

impl EventTokens {
    /// The sum over all earlier events; of a message, a call or a result: a summary's own tokens are not part of the sum.
    #[must_use]
    pub fn before(self) -> u64 {
        self.through.saturating_sub(self.own.into())
    }
}
