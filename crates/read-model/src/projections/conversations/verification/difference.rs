//! What can differ.

use std::fmt;

use domain::Version;

/// How rows are not what the record comes to. Names, never values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Difference {
    /// The conversation has no row.
    ConversationMissing,
    /// The conversation's row has other values in these columns.
    ConversationDiffers(Vec<&'static str>),
    /// There is a row of a conversation that the record does not know.
    ConversationUnfounded,
    /// An event has no row.
    EventMissing(Version),
    /// An event's row has other values in these columns.
    EventDiffers(Version, Vec<&'static str>),
    /// There is a row of an event that the record does not know.
    EventUnfounded(Version),
}

impl Difference {
    /// A name for machines; stable.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ConversationMissing => "conversation_missing",
            Self::ConversationDiffers(_) => "conversation_differs",
            Self::ConversationUnfounded => "conversation_unfounded",
            Self::EventMissing(_) => "event_missing",
            Self::EventDiffers(..) => "event_differs",
            Self::EventUnfounded(_) => "event_unfounded",
        }
    }

    /// The event that it is about.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        match self {
            Self::EventMissing(version)
            | Self::EventDiffers(version, _)
            | Self::EventUnfounded(version) => Some(*version),
            Self::ConversationMissing
            | Self::ConversationDiffers(_)
            | Self::ConversationUnfounded => None,
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
            | Self::EventUnfounded(_) => &[],
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConversationMissing => f.write_str("the conversation has no row"),
            Self::ConversationDiffers(columns) => {
                write!(
                    f,
                    "the conversation's row differs in {}",
                    columns.join(", ")
                )
            }
            Self::ConversationUnfounded => f.write_str("the record does not know the conversation"),
            Self::EventMissing(version) => write!(f, "event {version} has no row"),
            Self::EventDiffers(version, columns) => {
                write!(f, "event {version} differs in {}", columns.join(", "))
            }
            Self::EventUnfounded(version) => write!(f, "the record does not know event {version}"),
        }
    }
}
