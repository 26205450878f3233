//! Events: what can happen in a conversation. One file per kind.

mod conversation_created;
mod conversation_updated;
mod document_deleted;
mod document_put;
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
pub use document_deleted::DocumentDeleted;
pub use document_put::DocumentPut;
pub use error_occurred::ErrorOccurred;
pub use history_rewound::HistoryRewound;
pub use history_summarised::HistorySummarised;
pub use message_appended::{MessageAppended, Role, Usage, UsageSource};
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

/// One event of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Event {
    /// The caller's id, or one that is derived from its commit and its index there.
    pub id: EventId,
    /// When it happened, if the caller gave a time, as imports do. Nothing is sorted by it.
    pub occurred_at: Option<Timestamp>,
    /// A JSON object of the caller.
    pub metadata: Option<JsonText>,
    /// Its tokens in a context, as the writer counted them.
    pub tokens: EventTokens,
    /// What happened.
    pub fact: Fact,
}

impl Event {
    /// The tokens that the event adds to its conversation; 0 unless models read the fact in its place.
    #[must_use]
    pub fn context_tokens(&self) -> u64 {
        match self.fact {
            Fact::MessageAppended(_) | Fact::ToolCalled(_) | Fact::ToolReturned(_) => self.tokens.own.into(),
            Fact::Annotation(_) | Fact::Lifecycle(_) => 0,
        }
    }
}

/// An event with its version.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordedEvent {
    /// Its number in the conversation, which orders the events.
    pub version: Version,
    /// The commit that contains it.
    pub commit: CommitId,
    /// When the writer recorded it.
    pub recorded_at: Timestamp,
    /// The event.
    pub event: Event,
}

/// What happened. Models read messages, tool calls and tool results; the other two variants are groups that no model
/// reads in their place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Fact {
    /// A message of a user, a model or the system.
    MessageAppended(MessageAppended),
    /// The model called a tool.
    ToolCalled(ToolCalled),
    /// A tool returned a result.
    ToolReturned(ToolReturned),
    /// A fact about the history.
    Annotation(Annotation),
    /// A change of the conversation itself.
    Lifecycle(Lifecycle),
}

/// A fact about the history. Callers append it as they append messages.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Annotation {
    /// A note of the system.
    SystemNoted(SystemNoted),
    /// An error.
    ErrorOccurred(ErrorOccurred),
    /// A summary of the history up to a version.
    HistorySummarised(HistorySummarised),
    /// The history continues from an earlier version.
    HistoryRewound(HistoryRewound),
    /// A document has a new value.
    DocumentPut(DocumentPut),
    /// A document was deleted.
    DocumentDeleted(DocumentDeleted),
}

/// A change of the conversation itself. Each has a command of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Lifecycle {
    /// The conversation was created.
    ConversationCreated(ConversationCreated),
    /// Its title, metadata or provider ids changed.
    ConversationUpdated(ConversationUpdated),
    /// It was closed for events.
    ConversationArchived,
    /// It was opened again.
    ConversationRestored,
    /// It was erased: the tombstone.
    ConversationErased,
    /// It has another owner.
    OwnerChanged(OwnerChanged),
    /// A run started.
    RunStarted(RunStarted),
    /// A caller requested that a run stops.
    RunStopRequested(RunId),
    /// A run finished.
    RunFinished(RunFinished),
}

impl Fact {
    /// The kind of the fact.
    #[must_use]
    pub fn kind(&self) -> EventKind {
        match self {
            Self::MessageAppended(_) => EventKind::MessageAppended,
            Self::ToolCalled(_) => EventKind::ToolCalled,
            Self::ToolReturned(_) => EventKind::ToolReturned,
            Self::Annotation(annotation) => match annotation {
                Annotation::SystemNoted(_) => EventKind::SystemNoted,
                Annotation::ErrorOccurred(_) => EventKind::ErrorOccurred,
                Annotation::HistorySummarised(_) => EventKind::HistorySummarised,
                Annotation::HistoryRewound(_) => EventKind::HistoryRewound,
                Annotation::DocumentPut(_) => EventKind::DocumentPut,
                Annotation::DocumentDeleted(_) => EventKind::DocumentDeleted,
            },
            Self::Lifecycle(lifecycle) => match lifecycle {
                Lifecycle::ConversationCreated(_) => EventKind::ConversationCreated,
                Lifecycle::ConversationUpdated(_) => EventKind::ConversationUpdated,
                Lifecycle::ConversationArchived => EventKind::ConversationArchived,
                Lifecycle::ConversationRestored => EventKind::ConversationRestored,
                Lifecycle::ConversationErased => EventKind::ConversationErased,
                Lifecycle::OwnerChanged(_) => EventKind::OwnerChanged,
                Lifecycle::RunStarted(_) => EventKind::RunStarted,
                Lifecycle::RunStopRequested(_) => EventKind::RunStopRequested,
                Lifecycle::RunFinished(_) => EventKind::RunFinished,
            },
        }
    }
}

impl From<Annotation> for Fact {
    fn from(annotation: Annotation) -> Self {
        Self::Annotation(annotation)
    }
}

impl From<Lifecycle> for Fact {
    fn from(lifecycle: Lifecycle) -> Self {
        Self::Lifecycle(lifecycle)
    }
}

/// Facts from the data of one kind.
macro_rules! fact_from {
    ($($group:ident::$kind:ident,)+) => {
        $(impl From<$kind> for Fact {
            fn from(data: $kind) -> Self {
                Self::$group($group::$kind(data))
            }
        })+
    };
}

fact_from! {
    Annotation::SystemNoted,
    Annotation::ErrorOccurred,
    Annotation::HistorySummarised,
    Annotation::HistoryRewound,
    Annotation::DocumentPut,
    Annotation::DocumentDeleted,
    Lifecycle::ConversationCreated,
    Lifecycle::ConversationUpdated,
    Lifecycle::OwnerChanged,
    Lifecycle::RunStarted,
    Lifecycle::RunFinished,
}

/// The kinds of facts, each with the code that rows and protobuf keep.
macro_rules! event_kinds {
    ($($kind:ident = $code:literal,)+) => {
        /// The kinds of facts.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventKind {
            $(#[doc = concat!("The kind of `", stringify!($kind), "`.")]
            $kind,)+
        }

        impl EventKind {
            /// Every kind, in the order of their codes.
            pub const ALL: &[Self] = &[$(Self::$kind),+];

            /// The code that rows and protobuf keep. It never changes.
            #[must_use]
            pub fn code(self) -> i16 {
                match self {
                    $(Self::$kind => $code,)+
                }
            }

            /// The name of the kind, such as `MessageAppended`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($kind),)+
                }
            }
        }
    };
}

event_kinds! {
    MessageAppended = 1,
    ToolCalled = 2,
    ToolReturned = 3,
    SystemNoted = 4,
    ErrorOccurred = 5,
    ConversationCreated = 6,
    ConversationUpdated = 7,
    ConversationArchived = 8,
    ConversationRestored = 9,
    ConversationErased = 10,
    HistorySummarised = 11,
    OwnerChanged = 12,
    RunStarted = 13,
    RunStopRequested = 14,
    RunFinished = 15,
    HistoryRewound = 16,
    DocumentPut = 17,
    DocumentDeleted = 18,
}

impl EventKind {
    /// The kind with this code.
    #[must_use]
    pub fn from_code(code: i16) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.code() == code)
    }

    /// The kind with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_round_trip() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::from_code(kind.code()), Some(*kind));
        }
        assert_eq!(EventKind::from_code(0), None);
        assert_eq!(EventKind::from_code(19), None);
    }
}
