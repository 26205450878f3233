//! The readings of one moment.

use std::collections::BTreeMap;

use domain::{Partition, Sequence, Timestamp};
use event_log::{Durability, PartitionStatus, TimedSequence};
use read_model::projections::conversations::overview::{ErasedCommits, Overview};
use read_model::projections::search::SearchOverview;
use read_model::{ReplicaStatus, SchemaStatus};
use registry::EndingKey;

/// The readings of one moment. What could not be read has an error text.
#[derive(Debug, Clone)]
pub struct Readings {
    /// The time, by this machine's clock.
    pub now: Timestamp,
    /// The record.
    pub record: Result<RecordReading, String>,
    /// The read models.
    pub read_model: Result<ReadModelReading, String>,
    /// Where rows and record do not belong together; unknown ones are left out.
    pub divergences: Vec<String>,
    /// The shards of the read models, in order.
    pub shards: Vec<ShardReading>,
    /// The number of tenants whose rows are in a shard that was not read; `None`: unknown, or the database is a shard itself.
    pub unread_tenants: Option<usize>,
    /// The named replicas of Postgres, in order.
    pub replicas: Vec<ReplicaReading>,
    /// What erasures removed, by the rows; `None`: unknown, or the record has no holes that erasures could cause.
    pub erased: Option<ErasedReading>,
    /// The roles; `None`: not read.
    pub roles: Option<Vec<RoleReading>>,
}

/// The reading of a shard of the read models.
#[derive(Debug, Clone)]
pub struct ShardReading {
    /// Its name; its address, if its name is unknown.
    pub name: String,
    /// Its rows.
    pub read_model: Result<ReadModelReading, String>,
    /// The first message of each partition without rows; none, if there is none or the checkpoint is unknown.
    pub waits: BTreeMap<Partition, TimedSequence>,
}

/// The reading of a replica of Postgres.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaReading {
    /// Its address, without credentials.
    pub name: String,
    /// Its state; `None`: unknown, because the primary does not answer.
    pub status: Option<ReplicaStatus>,
}

/// The readings of erasures.
#[derive(Debug, Clone)]
pub struct ErasedReading {
    /// The checkpoints of the rows, read before the counts.
    pub checkpoints: Checkpoints,
    /// The number of removed commits, by partition.
    pub commits: Vec<ErasedCommits>,
}

impl ErasedReading {
    /// What erasures removed by the rows of two databases: known up to the earlier one of their checkpoints.
    pub(crate) fn with(mut self, other: Self) -> Self {
        for (partition, checkpoint) in &mut self.checkpoints {
            let others = other.checkpoints.get(partition).copied();
            *checkpoint = (*checkpoint).min(others.unwrap_or_default());
        }
        for more in other.commits {
            let mut commits = self.commits.iter_mut();
            match commits.find(|known| known.partition == more.partition) {
                Some(known) => known.commits = known.commits.saturating_add(more.commits),
                None => self.commits.push(more),
            }
        }
        self
    }
}

/// The checkpoint of each partition.
pub type Checkpoints = BTreeMap<Partition, Sequence>;

/// The readings of the record.
#[derive(Debug, Clone)]
pub struct RecordReading {
    /// Its id, hexadecimal.
    pub id: String,
    /// Whether commits survive a power failure.
    pub durability: Durability,
    /// The number of unencrypted secrets in the registry.
    pub secrets_in_clear: usize,
    /// The keys that end soon or have ended, by their end.
    pub ending_keys: Vec<EndingKey>,
    /// The number of partitions of a growth that has not ended; `None`: there is none.
    pub growing_to: Option<u16>,
    /// Its partitions, in order.
    pub partitions: Vec<PartitionReading>,
    /// Its erasures in progress.
    pub erasures: ErasuresReading,
}

/// The readings of the list of erasures in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErasuresReading {
    /// Their number.
    pub count: u64,
    /// The start of the oldest one that was read; `None`: there is none.
    pub oldest: Option<Timestamp>,
}

/// The readings of a partition of the record.
#[derive(Debug, Clone)]
pub struct PartitionReading {
    /// Its number.
    pub partition: Partition,
    /// The state of its stream.
    pub status: PartitionStatus,
    /// The number of its commits that are only in the archive.
    pub archived: u64,
    /// The first message without rows; `None`: there is none, or the checkpoint is unknown.
    pub waits: Option<TimedSequence>,
}

/// The readings of the read models.
#[derive(Debug, Clone)]
pub struct ReadModelReading {
    /// The schema of the database.
    pub schema: SchemaStatus,
    /// The projection of conversations.
    pub overview: Overview,
    /// The projection of the search; `None`: the schema has none yet.
    pub search: Option<SearchOverview>,
}

/// Whether a role must answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RolePresence {
    /// The operator named it.
    Required,
    /// It was tried at its default address, and may run elsewhere.
    Optional,
}

/// The readings of a role.
#[derive(Debug, Clone)]
pub struct RoleReading {
    /// Its name.
    pub name: String,
    /// The address of its admin listener.
    pub address: String,
    /// Whether it must answer.
    pub presence: RolePresence,
    /// Its answer, if any.
    pub answer: Option<RoleAnswer>,
}

/// The answer of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleAnswer {
    /// Whether it is ready.
    pub is_ready: bool,
    /// Whether it is shutting down.
    pub is_draining: bool,
    /// The dependencies that are down, with reasons.
    pub missing: Vec<String>,
    /// Its version, if it is known.
    pub version: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(checkpoints: &[u64], commits: &[(u16, u64)]) -> ErasedReading {
        let checkpoints = (0..).map(Partition).zip(checkpoints.iter().copied().map(Sequence));
        let commits = commits
            .iter()
            .map(|(partition, commits)| ErasedCommits { partition: Partition(*partition), commits: *commits });
        ErasedReading { checkpoints: checkpoints.collect(), commits: commits.collect() }
    }

    #[test]
    fn erasures_of_several_databases_are_known_up_to_the_earlier_checkpoint() {
        let both = reading(&[5, 7, 9], &[(0, 1)]).with(reading(&[6, 3], &[(0, 2), (1, 4)]));
        let expected = reading(&[5, 3, 0], &[(0, 3), (1, 4)]);
        assert_eq!(both.checkpoints, expected.checkpoints);
        assert_eq!(both.commits, expected.commits);
    }
}
