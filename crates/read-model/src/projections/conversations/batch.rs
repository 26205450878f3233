//! The input and the output of a projection: batches and their results.

use std::fmt;

use domain::{ConversationId, ConversationKey, Partition, Position, Sequence, TenantId};
use wire::commit::StoredCommit;
use wire::token::RecordId;

use super::lease::Lease;

/// A message of the record.
#[derive(Debug, Clone)]
pub enum Item {
    /// A decoded commit.
    Commit(Box<StoredCommit>),
    /// A message that is not a valid commit: it parks its conversation.
    Unreadable {
        /// The conversation, from the subject of the message.
        key: ConversationKey,
        /// The sequence of the message.
        sequence: Sequence,
        /// The problem; never a value.
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

    /// The partition of a commit; `None`: unknown.
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

/// The messages after the checkpoint of a partition.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The record of the messages. Batches of one transaction have the same one.
    pub record: RecordId,
    /// The right to write.
    pub lease: Lease,
    /// The checkpoint before the batch.
    pub previous: Sequence,
    /// The checkpoint after the batch: the sequence of its last message.
    pub last: Sequence,
    /// The messages, by sequence.
    pub items: Vec<Item>,
}

impl Batch {
    /// Splits the batch into two consecutive halves. A batch of one message has no second half.
    #[must_use]
    pub fn split(mut self) -> (Self, Option<Self>) {
        let items = self.items.split_off(self.items.len().div_ceil(2));
        let Some(end) = self.items.last().filter(|_| !items.is_empty()) else {
            return (self, None);
        };
        let end = end.sequence();
        let rest = Self { previous: end, items, ..self };
        self.last = end;
        (self, Some(rest))
    }
}

/// Why a conversation was parked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParkReason {
    /// The message is not a commit of the conversation, for this reason.
    Unreadable(String),
    /// Postgres rejected its rows with this SQLSTATE.
    Refused(String),
    /// The conversation has an earlier commit with the same id.
    RepeatedCommit,
    /// The row of the conversation is missing or has another version than the commit extends.
    OutOfPlace,
}

impl fmt::Display for ParkReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(reason) => f.write_str(reason),
            Self::Refused(sqlstate) => write!(f, "Postgres refused its rows: SQLSTATE {sqlstate}"),
            Self::RepeatedCommit => f.write_str(
                "the conversation has an earlier commit with the same id: a retry was committed twice, drop the second commit",
            ),
            Self::OutOfPlace => {
                f.write_str("the conversation's row is missing or not of the version that the commit extends")
            }
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
    /// The reason.
    pub reason: ParkReason,
}

/// The result of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// Number of event rows that were written.
    pub events: usize,
    /// Number of conversations whose rows changed.
    pub conversations: usize,
    /// Number of commits that were queued for parked conversations.
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
            record: RecordId([7; 8]),
            lease: Lease { partition: Partition(3), epoch: Epoch(1) },
            previous: Sequence(previous),
            last: Sequence(last),
            items: sequences.iter().map(item).collect(),
        }
    }

    fn check(sequences: &[u64], first: (u64, &[u64]), rest: Option<(u64, &[u64])>) {
        let (head, tail) = batch(5, 20, sequences).split();
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
