//! The problems that a verification finds, as text and as JSON.

use std::fmt;

use domain::audit::Fault;
use domain::{ConversationKey, Sequence, Version};
use read_model::projections::conversations::verification::Difference;
use serde_json::{Value, json};

/// A conversation as text.
pub(super) fn name(key: &ConversationKey) -> String {
    format!("{}/{}", key.tenant, key.conversation)
}

/// A problem of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Problem {
    /// Rows differ from the record.
    Rows(Difference),
    /// A commit of the record does not continue the previous one.
    Record(Sequence, Fault),
    /// A message of the record is not a commit of its conversation.
    Unreadable(Sequence, String),
    /// The conversation is parked at this commit.
    Parked(Sequence),
}

impl Problem {
    /// Whether the record itself has faults; then rows cannot be computed from it.
    pub(super) fn is_of_record(&self) -> bool {
        matches!(self, Self::Record(..) | Self::Unreadable(..))
    }

    /// Whether it is a row that the record does not contain.
    pub(super) fn is_unfounded(&self) -> bool {
        matches!(self, Self::Rows(Difference::ConversationUnfounded | Difference::EventUnfounded(_)))
    }

    /// The stable name in JSON output.
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
            Self::Record(_, Fault::VersionsMissing(version, _) | Fault::VersionRepeated(version)) => Some(*version),
            Self::Record(..) | Self::Unreadable(..) | Self::Parked(_) => None,
        }
    }

    fn sequence(&self) -> Option<Sequence> {
        match self {
            Self::Rows(_) => None,
            Self::Record(sequence, _) | Self::Unreadable(sequence, _) | Self::Parked(sequence) => Some(*sequence),
        }
    }

    fn columns(&self) -> &[&'static str] {
        match self {
            Self::Rows(difference) => difference.columns(),
            Self::Record(_, Fault::Head(fields)) => fields,
            Self::Record(..) | Self::Unreadable(..) | Self::Parked(_) => &[],
        }
    }

    /// The problem as a line of JSON.
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
                write!(f, "parked at message {sequence}: the rows end before it")
            }
        }
    }
}
