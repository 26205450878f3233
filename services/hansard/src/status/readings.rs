//! The readings of one moment.

use std::collections::BTreeMap;

use domain::{Partition, Sequence, Timestamp};
use event_log::{Durability, PartitionStatus, TimedSequence};
use read_model::SchemaStatus;
use read_model::projections::conversations::overview::{ErasedCommits, Overview};

/// The readings of one moment. What could not be read has an error text.
#[derive(Debug, Clone)]
pub(crate) struct Readings {
    /// The time, by this machine's clock.
    pub(crate) now: Timestamp,
    pub(crate) record: Result<RecordReading, String>,
    pub(crate) read_model: Result<ReadModelReading, String>,
    /// What erasures removed, by the rows; `None`: unknown, or the record has no holes that erasures could cause.
    pub(crate) erased: Option<ErasedReading>,
    /// The roles; `None`: not read.
    pub(crate) roles: Option<Vec<RoleReading>>,
}

/// The readings of erasures.
#[derive(Debug, Clone)]
pub(crate) struct ErasedReading {
    /// The checkpoints of the rows, read before the counts.
    pub(crate) checkpoints: Checkpoints,
    /// The number of removed commits, by partition.
    pub(crate) commits: Vec<ErasedCommits>,
}

/// The checkpoint of each partition.
pub(crate) type Checkpoints = BTreeMap<Partition, Sequence>;

/// The readings of the record.
#[derive(Debug, Clone)]
pub(crate) struct RecordReading {
    /// Its id, hexadecimal.
    pub(crate) id: String,
    /// Whether commits survive a power failure.
    pub(crate) durability: Durability,
    /// The number of unencrypted secrets in the registry.
    pub(crate) secrets_in_clear: usize,
    /// Its partitions, in order.
    pub(crate) partitions: Vec<PartitionReading>,
    /// Its erasures in progress.
    pub(crate) erasures: ErasuresReading,
}

/// The readings of the list of erasures in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ErasuresReading {
    /// Their number.
    pub(crate) count: u64,
    /// The start of the oldest one that was read; `None`: there is none.
    pub(crate) oldest: Option<Timestamp>,
}

/// The readings of a partition of the record.
#[derive(Debug, Clone)]
pub(crate) struct PartitionReading {
    pub(crate) partition: Partition,
    /// The state of its stream.
    pub(crate) standing: PartitionStatus,
    /// The number of its commits that are only in the archive.
    pub(crate) archived: u64,
    /// The first message without rows; `None`: there is none, or the checkpoint is unknown.
    pub(crate) waits: Option<TimedSequence>,
}

/// The readings of the read models.
#[derive(Debug, Clone)]
pub(crate) struct ReadModelReading {
    pub(crate) schema: SchemaStatus,
    /// The projection of conversations.
    pub(crate) overview: Overview,
}

/// Whether a role must answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RolePresence {
    /// The operator named it.
    Required,
    /// It was tried at its default address, and may run elsewhere.
    Optional,
}

/// The readings of a role.
#[derive(Debug, Clone)]
pub(crate) struct RoleReading {
    pub(crate) name: String,
    /// The address of its admin listener.
    pub(crate) address: String,
    /// Whether it must answer.
    pub(crate) presence: RolePresence,
    /// Its answer, if any.
    pub(crate) answer: Option<RoleAnswer>,
}

/// The answer of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoleAnswer {
    /// Whether it is ready.
    pub(crate) is_ready: bool,
    /// Whether it is shutting down.
    pub(crate) is_draining: bool,
    /// The dependencies that are down, with reasons.
    pub(crate) missing: Vec<String>,
    /// Its version, if it is known.
    pub(crate) version: Option<String>,
}
