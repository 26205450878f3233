//! What may be found, and how it is told.

use std::fmt;

use domain::audit::Fault;
use domain::{ConversationKey, Sequence, Version};
use read_model::projections::conversations::verification::Difference;
use serde_json::{Value, json};

/// A conversation's name, for people.
pub(super) fn name(key: &ConversationKey) -> String {
    format!("{}/{}", key.tenant, key.conversation)
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Problem {
    /// Rows are not what the record comes to.
    Rows(Difference),
    /// A commit of the record does not go on from the one before it.
    Record(Sequence, Fault),
    /// A message of the record is no commit of its conversation.
    Unreadable(Sequence, String),
    /// The conversation waits at a commit that could not be projected.
    Parked(Sequence),
}

impl Problem {
    /// Whether the record itself is not whole: then nothing can be made from it.
    pub(super) fn is_of_record(&self) -> bool {
        matches!(self, Self::Record(..) | Self::Unreadable(..))
    }

    /// Whether it is a row of which the record does not know.
    pub(super) fn is_unfounded(&self) -> bool {
        matches!(
            self,
            Self::Rows(Difference::ConversationUnfounded | Difference::EventUnfounded(_))
        )
    }

    /// A name for machines; stable.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Rows(difference) => difference.kind(),
            Self::Record(_, fault) => fault.kind(),
            Self::Unreadable(..) => "unreadable",
            Self::Parked(_) => "parked",
        }
    }

    fn version(&self) -> Option<Version> {
        match self {
            Self::Rows(difference) => difference.version(),
            Self::Record(
                _,
                Fault::VersionsMissing(version, _) | Fault::VersionRepeated(version),
            ) => Some(*version),
            Self::Record(..) | Self::Unreadable(..) | Self::Parked(_) => None,
        }
    }

    fn sequence(&self) -> Option<Sequence> {
        match self {
            Self::Rows(_) => None,
            Self::Record(sequence, _) | Self::Unreadable(sequence, _) | Self::Parked(sequence) => {
                Some(*sequence)
            }
        }
    }

    fn columns(&self) -> &[&'static str] {
        match self {
            Self::Rows(difference) => difference.columns(),
            Self::Record(_, Fault::Head(fields)) => fields,
            Self::Record(..) | Self::Unreadable(..) | Self::Parked(_) => &[],
        }
    }

    /// As a line for machines.
    pub(super) fn to_json(&self, key: &ConversationKey) -> Value {
        json!({
            "tenant": key.tenant.as_str(),
            "conversation": key.conversation.as_str(),
            "kind": self.kind(),
            "version": self.version().map(|version| version.0),
            "sequence": self.sequence().map(|sequence| sequence.0),
            "columns": self.columns(),
            "what": self.to_string(),
        })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(difference) => difference.fmt(f),
            Self::Record(sequence, fault) => write!(f, "record, message {sequence}: {fault}"),
            Self::Unreadable(sequence, reason) => {
                write!(f, "record, message {sequence}: {reason}")
            }
            Self::Parked(sequence) => {
                write!(f, "parked at message {sequence}: its rows end before that")
            }
        }
    }
}
