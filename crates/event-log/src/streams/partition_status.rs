//! The status of a partition: the contents and the replicas of its stream.

use domain::Partition;

use crate::error::Unavailable;
use crate::record::Record;
use crate::streams::replicas::{StreamKind, StreamReplicas};
use crate::topology::PartitionBounds;

/// The status of a partition, from its leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionStatus {
    /// Its first and last sequence.
    pub bounds: PartitionBounds,
    /// The number of messages.
    pub messages: u64,
    /// The size of the messages with headers and subjects, in bytes.
    pub size_bytes: u64,
    /// Whether its stream accepts batches, so that concurrent commits share a sync.
    pub accepts_batches: bool,
    /// Its replicas.
    pub replicas: StreamReplicas,
}

impl PartitionStatus {
    /// Sequences without a message between the first and the last: removed messages.
    #[must_use]
    pub fn holes(&self) -> u64 {
        let span = self.bounds.last.0.saturating_add(1).saturating_sub(self.bounds.first.0);
        span.saturating_sub(self.messages)
    }

    /// Sequences before the first: removed at the start.
    #[must_use]
    pub fn trimmed(&self) -> u64 {
        self.bounds.first.0.saturating_sub(1)
    }

    /// All sequences without a message up to the last.
    #[must_use]
    pub fn removed(&self) -> u64 {
        self.holes().saturating_add(self.trimmed())
    }
}

impl Record {
    /// The current status of a partition.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn partition_status(&self, partition: Partition) -> Result<PartitionStatus, Unavailable> {
        let info = self.partition_info(partition).await?;
        let bounds = info.state.bounds();
        let (messages, size_bytes) = (info.state.messages, info.state.bytes);
        let accepts_batches = info.config.allow_atomic_publish;
        Ok(PartitionStatus {
            bounds,
            messages,
            size_bytes,
            accepts_batches,
            replicas: StreamReplicas::of(StreamKind::Commits, info),
        })
    }
}

#[cfg(test)]
mod tests {
    use domain::Sequence;

    use super::*;

    fn check(first: u64, last: u64, messages: u64, expected: (u64, u64)) {
        let status = PartitionStatus {
            bounds: PartitionBounds { first: Sequence(first), last: Sequence(last) },
            messages,
            size_bytes: 0,
            accepts_batches: true,
            replicas: StreamReplicas {
                stream: "HANSARD_0".to_owned(),
                kind: StreamKind::Commits,
                configured: 1,
                leader: None,
                servers: Vec::new(),
                behind: Vec::new(),
            },
        };
        assert_eq!((status.holes(), status.trimmed()), expected);
    }

    #[test]
    fn holes_are_sequences_without_a_message() {
        check(1, 0, 0, (0, 0));
        check(1, 10, 10, (0, 0));
        check(1, 10, 7, (3, 0));
        check(4, 10, 5, (2, 3));
        check(11, 10, 0, (0, 10));
        check(1, u64::MAX, 0, (u64::MAX - 1, 0));
    }
}
