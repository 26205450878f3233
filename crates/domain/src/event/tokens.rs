//! Token counts of an event.

/// Tokens of an event, counted once when it was appended, by one tokenizer for all models.
///
/// Both are 0 if the event was not counted, as in older records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct EventTokens {
    /// The most tokens that the event takes in a context.
    pub own: u32,
    /// The sum over this and all earlier messages, calls and results of the conversation that were counted. A fork counts
    /// only its own; readers add the tokens of its ancestors.
    pub through: u64,
}

impl EventTokens {
    /// The sum over all earlier events, for a message, a call or a result. A summary's own tokens are not part of the sum.
    #[must_use]
    pub fn before(self) -> u64 {
        self.through.saturating_sub(self.own.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_before_an_event_is_without_its_own_tokens() {
        for (own, through, expected) in [(0, 0, 0), (3, 10, 7), (10, 10, 0), (0, 10, 10), (32, 10, 0)] {
            assert_eq!(EventTokens { own, through }.before(), expected, "{own} {through}");
        }
    }
}
