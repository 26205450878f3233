//! What a projector hands over, and what it hears back.

use std::fmt;

use domain::{ConversationId, ConversationKey, Partition, Position, Sequence, TenantId};
use wire::commit::StoredCommit;

use super::lease::Lease;

/// A message of the record.
#[derive(Debug, Clone)]
pub enum Item {
    /// A commit that opened.
    Commit(Box<StoredCommit>),
    /// A message that did not: it parks its conversation.
    Unreadable {
        /// The conversation, by the message's subject.
        key: ConversationKey,
        /// Its place.
        sequence: Sequence,
        /// What is wrong with it; never a value.
        reason: String,
    },
}

impl Item {
    pub(super) fn key(&self) -> (&TenantId, &ConversationId) {
        match self {
            Self::Commit(commit) => {
                let commit = &commit.opened.commit;
                (&commit.tenant, &commit.conversation)
            }
            Self::Unreadable { key, .. } => (&key.tenant, &key.conversation),
        }
    }

    /// Its partition, where it says so itself.
    pub(super) fn partition(&self) -> Option<Partition> {
        match self {
            Self::Commit(commit) => Some(commit.position.partition),
            Self::Unreadable { .. } => None,
        }
    }

    pub(super) fn sequence(&self) -> Sequence {
        match self {
            Self::Commit(commit) => commit.position.sequence,
            Self::Unreadable { sequence, .. } => *sequence,
        }
    }
}

/// What follows a partition's checkpoint.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The right to write.
    pub lease: Lease,
    /// The checkpoint that the batch follows.
    pub previous: Sequence,
    /// The checkpoint after it: the sequence of its last message.
    pub last: Sequence,
    /// Its messages, by sequence.
    pub items: Vec<Item>,
}

impl Batch {
    /// The same in two parts, one after the other; in one where it has but one message.
    #[must_use]
    pub fn halved(mut self) -> (Self, Option<Self>) {
        let items = self.items.split_off(self.items.len().div_ceil(2));
        let Some(end) = self.items.last().map(Item::sequence) else {
            return (self, None);
        };
        if items.is_empty() {
            return (self, None);
        }
        let rest = Self {
            previous: end,
            items,
            ..self
        };
        self.last = end;
        (self, Some(rest))
    }
}

/// Why a conversation was parked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParkReason {
    /// The message is no commit of the conversation; what is wrong with it.
    Unreadable(String),
    /// Postgres refused its rows, with this SQLSTATE.
    Refused(String),
    /// Its row is missing, or of another version than the commit extends.
    OutOfPlace,
}

impl fmt::Display for ParkReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(reason) => f.write_str(reason),
            Self::Refused(sqlstate) => write!(f, "Postgres refused its rows: SQLSTATE {sqlstate}"),
            Self::OutOfPlace => f.write_str(
                "the conversation's row is missing or not of the version that the commit extends",
            ),
        }
    }
}

/// A conversation that a batch parked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    /// The conversation.
    pub key: ConversationKey,
    /// The commit that cannot be projected.
    pub position: Position,
    /// Why.
    pub reason: ParkReason,
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// Rows of events that were written.
    pub events: usize,
    /// Conversations whose rows changed.
    pub conversations: usize,
    /// Commits that wait in parked conversations.
    pub queued: usize,
    /// The conversations that were parked.
    pub parked: Vec<Parked>,
}

#[cfg(test)]
mod tests {
    use domain::Partition;

    use super::super::lease::Epoch;

    use super::*;

    fn batch(previous: u64, last: u64, sequences: &[u64]) -> Batch {
        let item = |sequence: &u64| Item::Unreadable {
            key: ConversationKey {
                tenant: TenantId::parse("acme").unwrap(),
                conversation: ConversationId::parse("c").unwrap(),
            },
            sequence: Sequence(*sequence),
            reason: String::new(),
        };
        Batch {
            lease: Lease {
                partition: Partition(3),
                epoch: Epoch(1),
            },
            previous: Sequence(previous),
            last: Sequence(last),
            items: sequences.iter().map(item).collect(),
        }
    }

    fn check(sequences: &[u64], first: (u64, &[u64]), rest: Option<(u64, &[u64])>) {
        let (head, tail) = batch(5, 20, sequences).halved();
        let seen = |batch: &Batch| -> (u64, u64, Vec<u64>) {
            let sequences = batch.items.iter().map(|item| item.sequence().0);
            (batch.previous.0, batch.last.0, sequences.collect())
        };
        assert_eq!(seen(&head), (5, first.0, first.1.to_vec()), "{sequences:?}");
        let rest = rest.map(|(previous, items)| (previous, 20, items.to_vec()));
        assert_eq!(tail.as_ref().map(seen), rest, "{sequences:?}");
    }

    #[test]
    fn halves_follow_each_other_and_lose_nothing() {
        check(&[], (20, &[]), None);
        check(&[8], (20, &[8]), None);
        check(&[8, 9], (8, &[8]), Some((8, &[9])));
        check(&[8, 11, 15], (11, &[8, 11]), Some((11, &[15])));
    }
}
