//! How a partition stands: what its stream holds, and which servers keep it.

use domain::Partition;

use crate::error::Unavailable;
use crate::record::Record;
use crate::topology;
use crate::topology::PartitionBounds;

/// How a partition stands, as its leader says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionStanding {
    /// What it holds.
    pub bounds: PartitionBounds,
    /// How many messages it holds.
    pub messages: u64,
    /// How many bytes they take, headers and subjects among them.
    pub size_bytes: u64,
    /// On how many servers it is to be kept.
    pub replicas: usize,
    /// The server that leads it; `None`: none does now, or a server that is alone does not say its name.
    pub leader: Option<String>,
    /// The servers that keep it and are away or behind, by name.
    pub behind: Vec<String>,
}

impl PartitionStanding {
    /// Sequences that hold nothing between the first and the last: what was removed of them.
    #[must_use]
    pub fn holes(&self) -> u64 {
        let span = self.bounds.last.0.saturating_add(1);
        let span = span.saturating_sub(self.bounds.first.0);
        span.saturating_sub(self.messages)
    }

    /// Sequences before the first: what was removed in the beginning.
    #[must_use]
    pub fn trimmed(&self) -> u64 {
        self.bounds.first.0.saturating_sub(1)
    }

    /// Sequences up to the last that hold nothing.
    #[must_use]
    pub fn removed(&self) -> u64 {
        self.holes().saturating_add(self.trimmed())
    }
}

impl Record {
    /// How a partition stands now.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn standing_of(
        &self,
        partition: Partition,
    ) -> Result<PartitionStanding, Unavailable> {
        let stream = topology::stream_name(partition);
        let info = topology::info(self.connection(), &stream, self.deadline()).await?;
        let info = info.ok_or(Unavailable::new("a stream is gone"))?;
        let cluster = info.cluster.unwrap_or_default();
        let behind = cluster
            .replicas
            .into_iter()
            .filter(|replica| replica.offline || !replica.current);
        Ok(PartitionStanding {
            bounds: info.state.bounds(),
            messages: info.state.messages,
            size_bytes: info.state.bytes,
            replicas: info.config.num_replicas,
            leader: cluster.leader.filter(|leader| !leader.is_empty()),
            behind: behind.map(|replica| replica.name).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use domain::Sequence;

    use super::*;

    fn check(first: u64, last: u64, messages: u64, expected: (u64, u64)) {
        let standing = PartitionStanding {
            bounds: PartitionBounds {
                first: Sequence(first),
                last: Sequence(last),
            },
            messages,
            size_bytes: 0,
            replicas: 1,
            leader: None,
            behind: Vec::new(),
        };
        assert_eq!((standing.holes(), standing.trimmed()), expected);
    }

    #[test]
    fn holes_are_what_no_message_stands_at() {
        check(1, 0, 0, (0, 0));
        check(1, 10, 10, (0, 0));
        check(1, 10, 7, (3, 0));
        check(4, 10, 5, (2, 3));
        check(11, 10, 0, (0, 10));
        check(1, u64::MAX, 0, (u64::MAX - 1, 0));
    }
}
