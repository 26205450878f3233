//! Sums over all events of a conversation.

use crate::event::{Event, Fact};

/// Sums over all events of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Totals {
    /// Commits.
    pub commits: u64,
    /// Messages, without tool calls and results.
    pub messages: u64,
    /// Tokens that models read, including cached ones.
    pub input_tokens: u64,
    /// Tokens that models wrote.
    pub output_tokens: u64,
    /// Tokens that models read from a cache.
    pub cached_tokens: u64,
    /// Tokens of its messages, calls and results, as the writer counted them. A context of all of them needs no more.
    pub context_tokens: u64,
}

impl Totals {
    /// Adds an event.
    pub(crate) fn add(&mut self, event: &Event) {
        self.context_tokens = self.context_tokens.saturating_add(event.context_tokens());
        let Fact::MessageAppended(message) = &event.fact else {
            return;
        };
        self.messages += 1;
        let usage = message.usage.unwrap_or_default();
        self.input_tokens = self.input_tokens.saturating_add(usage.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(usage.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(usage.cached_tokens);
    }
}
