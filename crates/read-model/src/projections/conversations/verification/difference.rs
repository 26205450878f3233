//! Differences between rows and the record.

use std::fmt;

use domain::Version;

/// A difference between rows and the record. It contains names, never values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Difference {
    /// The conversation has no row.
    ConversationMissing,
    /// The conversation's row has other values in these columns.
    ConversationDiffers(Vec<&'static str>),
    /// The row of a conversation that the record does not contain.
    ConversationUnfounded,
    /// An event has no row.
    EventMissing(Version),
    /// An event's row has other values in these columns.
    EventDiffers(Version, Vec<&'static str>),
    /// The row of an event that the record does not contain.
    EventUnfounded(Version),
    /// The rows of its documents have other names or values.
    DocumentsDiffer,
}

impl Difference {
    /// A stable name for programs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ConversationMissing => "conversation_missing",
            Self::ConversationDiffers(_) => "conversation_differs",
            Self::ConversationUnfounded => "conversation_unfounded",
            Self::EventMissing(_) => "event_missing",
            Self::EventDiffers(..) => "event_differs",
            Self::EventUnfounded(_) => "event_unfounded",
            Self::DocumentsDiffer => "documents_differ",
        }
    }

    /// The version of the event, for differences of events.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        match self {
            Self::EventMissing(version) | Self::EventDiffers(version, _) | Self::EventUnfounded(version) => {
                Some(*version)
            }
            Self::ConversationMissing
            | Self::ConversationDiffers(_)
            | Self::ConversationUnfounded
            | Self::DocumentsDiffer => None,
        }
    }

    /// The columns that differ.
    #[must_use]
    pub fn columns(&self) -> &[&'static str] {
        match self {
            Self::ConversationDiffers(columns) | Self::EventDiffers(_, columns) => columns,
            Self::ConversationMissing
            | Self::ConversationUnfounded
            | Self::EventMissing(_)
            | Self::EventUnfounded(_)
            | Self::DocumentsDiffer => &[],
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConversationMissing => f.write_str("the conversation has no row"),
            Self::ConversationDiffers(columns) => {
                let columns = columns.join(", ");
                write!(f, "the row of the conversation differs in {columns}")
            }
            Self::ConversationUnfounded => f.write_str("the record does not contain the conversation"),
            Self::EventMissing(version) => write!(f, "event {version} has no row"),
            Self::EventDiffers(version, columns) => {
                write!(f, "event {version} differs in {}", columns.join(", "))
            }
            Self::EventUnfounded(version) => {
                write!(f, "the record does not contain event {version}")
            }
            Self::DocumentsDiffer => f.write_str("the rows of its documents differ"),
        }
    }
}
