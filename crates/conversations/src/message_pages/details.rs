//! What events say about the messages of a page beside their parts: time, model and tokens.

use domain::event::{Role, Usage};
use domain::{Fact, Label, Lifecycle, RecordedEvent, Timestamp, Version};
use runs::UiMessage;
use runs::ui_message::UiRole;

/// The details of a message, as far as the record has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageDetails {
    /// When its first event happened, if the caller gave a time; otherwise when it was recorded.
    pub created_at: Option<Timestamp>,
    /// The model that wrote the last part of it, or that was called and wrote nothing.
    pub model: Option<Label>,
    /// The tokens of all answers of models in it.
    pub usage: Option<Usage>,
}

/// The details of the messages of a page. `ends` has the last version of each message.
pub(super) fn of_messages(messages: &[UiMessage], ends: &[Version], events: &[RecordedEvent]) -> Vec<MessageDetails> {
    let mut after = Version::ZERO;
    let mut details = Vec::with_capacity(messages.len());
    for (message, end) in messages.iter().zip(ends) {
        let its = |event: &&RecordedEvent| event.version > after && event.version <= *end;
        details.push(of_message(message.role, events.iter().filter(its)));
        after = *end;
    }
    details
}

fn of_message<'a>(role: UiRole, events: impl Iterator<Item = &'a RecordedEvent>) -> MessageDetails {
    let mut details = MessageDetails::default();
    for event in events {
        match (&event.event.fact, role) {
            (Fact::MessageAppended(message), UiRole::User) if message.role == Role::User => {
                details.begin(event);
            }
            (Fact::MessageAppended(message), UiRole::Assistant) if message.role == Role::Assistant => {
                details.begin(event);
                details.model = message.model.clone().or(details.model);
                details.usage = sum(details.usage, message.usage);
            }
            (Fact::ToolCalled(call), UiRole::Assistant) => {
                details.begin(event);
                details.model = call.model.clone().or(details.model);
            }
            (Fact::Lifecycle(Lifecycle::RunStarted(started)), UiRole::Assistant) => {
                details.model = details.model.or_else(|| started.model.clone());
            }
            (Fact::Lifecycle(Lifecycle::RunFinished(_)), UiRole::Assistant) => {
                details.begin(event);
            }
            _ => {}
        }
    }
    details
}

impl MessageDetails {
    fn begin(&mut self, event: &RecordedEvent) {
        let happened = event.event.occurred_at.unwrap_or(event.recorded_at);
        self.created_at.get_or_insert(happened);
    }
}

fn sum(sum: Option<Usage>, usage: Option<Usage>) -> Option<Usage> {
    let (Some(first), Some(second)) = (sum, usage) else {
        return sum.or(usage);
    };
    Some(Usage {
        input_tokens: first.input_tokens.saturating_add(second.input_tokens),
        output_tokens: first.output_tokens.saturating_add(second.output_tokens),
        cached_tokens: first.cached_tokens.saturating_add(second.cached_tokens),
        reasoning_tokens: first.reasoning_tokens.saturating_add(second.reasoning_tokens),
    })
}
