//! Facts: what can happen in a conversation. One file an event.

mod conversation_created;
mod conversation_updated;
mod error_occurred;
mod history_rewound;
mod history_summarised;
mod message_appended;
mod owner_changed;
mod run_finished;
mod run_started;
mod system_noted;
mod tokens;
mod tool_called;
mod tool_returned;

pub use conversation_created::{ClientContext, ConversationCreated, ForkPoint};
pub use conversation_updated::ConversationUpdated;
pub use error_occurred::ErrorOccurred;
pub use history_rewound::HistoryRewound;
pub use history_summarised::HistorySummarised;
pub use message_appended::{MessageAppended, Role, Usage};
pub use owner_changed::OwnerChanged;
pub use run_finished::RunFinished;
pub use run_started::RunStarted;
pub use system_noted::SystemNoted;
pub use tokens::EventTokens;
pub use tool_called::ToolCalled;
pub use tool_returned::{ToolOutcome, ToolOutput, ToolReturned};

use crate::id::{CommitId, EventId, RunId};
use crate::json::JsonText;
use crate::position::Version;
use crate::time::Timestamp;

/// One fact of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Event {
    /// Its id: the caller's, or derived from its commit and place.
    pub id: EventId,
    /// When it happened, where the caller knows; imports keep their times. Nothing is ordered by it.
    pub occurred_at: Option<Timestamp>,
    /// Whatever else the caller keeps with it: a JSON object.
    pub metadata: Option<JsonText>,
    /// What it weighs in a context, as the writer counted it.
    pub tokens: EventTokens,
    /// What happened.
    pub fact: Fact,
}

impl Event {
    /// What the event adds to the tokens of its conversation: messages, calls and results are what contexts are made of; a
    /// summary stands for some of them and adds nothing.
    #[must_use]
    pub fn context_tokens(&self) -> u64 {
        match self.fact {
            Fact::MessageAppended(_) | Fact::ToolCalled(_) | Fact::ToolReturned(_) => {
                self.tokens.own.into()
            }
            Fact::SystemNoted(_)
            | Fact::ErrorOccurred(_)
            | Fact::ConversationCreated(_)
            | Fact::ConversationUpdated(_)
            | Fact::ConversationArchived
            | Fact::ConversationRestored
            | Fact::ConversationErased
            | Fact::HistorySummarised(_)
            | Fact::HistoryRewound(_)
            | Fact::OwnerChanged(_)
            | Fact::RunStarted(_)
            | Fact::RunStopRequested(_)
            | Fact::RunFinished(_) => 0,
        }
    }
}

/// An event in its place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordedEvent {
    /// Its place in the conversation: the only order there is.
    pub version: Version,
    /// The commit that it came with.
    pub commit: CommitId,
    /// When the writer recorded it.
    pub recorded_at: Timestamp,
    /// The event.
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Fact {
    /// Someone said something.
    MessageAppended(MessageAppended),
    /// The model called a tool.
    ToolCalled(ToolCalled),
    /// A tool answered.
    ToolReturned(ToolReturned),
    /// The system took note of something.
    SystemNoted(SystemNoted),
    /// Something failed.
    ErrorOccurred(ErrorOccurred),
    /// The conversation began.
    ConversationCreated(ConversationCreated),
    /// Its title, metadata or provider ids changed.
    ConversationUpdated(ConversationUpdated),
    /// It was closed for events.
    ConversationArchived,
    /// It was opened again.
    ConversationRestored,
    /// It was erased: the tombstone.
    ConversationErased,
    /// What happened so far was told in short.
    HistorySummarised(HistorySummarised),
    /// It belongs to someone else now.
    OwnerChanged(OwnerChanged),
    /// A model began to generate.
    RunStarted(RunStarted),
    /// A generation was asked to stop.
    RunStopRequested(RunId),
    /// A generation is over.
    RunFinished(RunFinished),
    /// It went on from an earlier version.
    HistoryRewound(HistoryRewound),
}

impl Fact {
    /// The kind of the fact.
    #[must_use]
    pub fn kind(&self) -> EventKind {
        match self {
            Self::MessageAppended(_) => EventKind::MessageAppended,
            Self::ToolCalled(_) => EventKind::ToolCalled,
            Self::ToolReturned(_) => EventKind::ToolReturned,
            Self::SystemNoted(_) => EventKind::SystemNoted,
            Self::ErrorOccurred(_) => EventKind::ErrorOccurred,
            Self::ConversationCreated(_) => EventKind::ConversationCreated,
            Self::ConversationUpdated(_) => EventKind::ConversationUpdated,
            Self::ConversationArchived => EventKind::ConversationArchived,
            Self::ConversationRestored => EventKind::ConversationRestored,
            Self::ConversationErased => EventKind::ConversationErased,
            Self::HistorySummarised(_) => EventKind::HistorySummarised,
            Self::OwnerChanged(_) => EventKind::OwnerChanged,
            Self::RunStarted(_) => EventKind::RunStarted,
            Self::RunStopRequested(_) => EventKind::RunStopRequested,
            Self::RunFinished(_) => EventKind::RunFinished,
            Self::HistoryRewound(_) => EventKind::HistoryRewound,
        }
    }
}

/// The kinds of fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// See [`Fact::MessageAppended`].
    MessageAppended,
    /// See [`Fact::ToolCalled`].
    ToolCalled,
    /// See [`Fact::ToolReturned`].
    ToolReturned,
    /// See [`Fact::SystemNoted`].
    SystemNoted,
    /// See [`Fact::ErrorOccurred`].
    ErrorOccurred,
    /// See [`Fact::ConversationCreated`].
    ConversationCreated,
    /// See [`Fact::ConversationUpdated`].
    ConversationUpdated,
    /// See [`Fact::ConversationArchived`].
    ConversationArchived,
    /// See [`Fact::ConversationRestored`].
    ConversationRestored,
    /// See [`Fact::ConversationErased`].
    ConversationErased,
    /// See [`Fact::HistorySummarised`].
    HistorySummarised,
    /// See [`Fact::OwnerChanged`].
    OwnerChanged,
    /// See [`Fact::RunStarted`].
    RunStarted,
    /// See [`Fact::RunStopRequested`].
    RunStopRequested,
    /// See [`Fact::RunFinished`].
    RunFinished,
    /// See [`Fact::HistoryRewound`].
    HistoryRewound,
}

impl EventKind {
    /// Every kind, in the order of their codes.
    pub const ALL: [Self; 16] = [
        Self::MessageAppended,
        Self::ToolCalled,
        Self::ToolReturned,
        Self::SystemNoted,
        Self::ErrorOccurred,
        Self::ConversationCreated,
        Self::ConversationUpdated,
        Self::ConversationArchived,
        Self::ConversationRestored,
        Self::ConversationErased,
        Self::HistorySummarised,
        Self::OwnerChanged,
        Self::RunStarted,
        Self::RunStopRequested,
        Self::RunFinished,
        Self::HistoryRewound,
    ];

    /// The code that rows keep. Stable for ever.
    #[must_use]
    pub fn code(self) -> i16 {
        match self {
            Self::MessageAppended => 1,
            Self::ToolCalled => 2,
            Self::ToolReturned => 3,
            Self::SystemNoted => 4,
            Self::ErrorOccurred => 5,
            Self::ConversationCreated => 6,
            Self::ConversationUpdated => 7,
            Self::ConversationArchived => 8,
            Self::ConversationRestored => 9,
            Self::ConversationErased => 10,
            Self::HistorySummarised => 11,
            Self::OwnerChanged => 12,
            Self::RunStarted => 13,
            Self::RunStopRequested => 14,
            Self::RunFinished => 15,
            Self::HistoryRewound => 16,
        }
    }

    /// The kind with this code.
    #[must_use]
    pub fn from_code(code: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_round_trip() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::from_code(kind.code()), Some(kind));
        }
        assert_eq!(EventKind::from_code(0), None);
        assert_eq!(EventKind::from_code(17), None);
    }
}
