//! What was read of a system at one moment.

use std::collections::BTreeMap;

use domain::{Partition, Sequence, Timestamp};
use event_log::{Durability, PartitionStanding, StoredAt};
use read_model::SchemaStanding;
use read_model::projections::conversations::overview::{ErasedCommits, Overview};

/// What was read at one moment. What could not be read says why, in words for an operator.
#[derive(Debug, Clone)]
pub struct Readings {
    /// When, by this machine's clock.
    pub now: Timestamp,
    /// The record.
    pub record: Result<RecordReading, String>,
    /// The read models.
    pub read_model: Result<ReadModelReading, String>,
    /// What erasures have taken, as the rows know; `None`: nobody can say, or there is no hole that they could explain.
    pub erased: Option<ErasedReading>,
    /// The roles that were asked; `None`: none was.
    pub roles: Option<Vec<RoleReading>>,
}

/// What was read of erasures.
#[derive(Debug, Clone)]
pub struct ErasedReading {
    /// How far the rows were when it was read, at the least.
    pub checkpoints: Checkpoints,
    /// How many commits they took, by partition.
    pub commits: Vec<ErasedCommits>,
}

/// How far the rows are.
pub type Checkpoints = BTreeMap<Partition, Sequence>;

/// What was read of the record.
#[derive(Debug, Clone)]
pub struct RecordReading {
    /// Its id, in hexadecimal.
    pub id: String,
    /// What can be seen of whether it outlives a power failure.
    pub durability: Durability,
    /// How many secrets of the registry are kept in clear.
    pub secrets_in_clear: usize,
    /// Its partitions, in order.
    pub partitions: Vec<PartitionReading>,
    /// Its erasures in progress.
    pub erasures: ErasuresReading,
}

/// What was read of the list of erasures in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErasuresReading {
    /// How many there are.
    pub count: u64,
    /// When the oldest of those that were read was begun; `None`: there is none.
    pub oldest: Option<Timestamp>,
}

/// What was read of a partition of the record.
#[derive(Debug, Clone)]
pub struct PartitionReading {
    /// The partition.
    pub partition: Partition,
    /// What its stream holds.
    pub standing: PartitionStanding,
    /// How many of its commits are in the archive and not in the stream.
    pub archived: u64,
    /// The first message that the rows do not hold; `None`: there is none, or it is not known how far they are.
    pub waits: Option<StoredAt>,
}

/// What was read of the read models.
#[derive(Debug, Clone)]
pub struct ReadModelReading {
    /// The schema.
    pub schema: SchemaStanding,
    /// The projection of conversations.
    pub overview: Overview,
}

/// Whether a role that does not answer is missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Somebody named it.
    Named,
    /// It was looked for where roles stand by default; it may be elsewhere.
    Guessed,
}

/// What was read of a role.
#[derive(Debug, Clone)]
pub struct RoleReading {
    /// Its name.
    pub name: String,
    /// Where it was asked.
    pub address: String,
    /// Whether it is missed.
    pub expected: Expected,
    /// What it said; `None`: nothing.
    pub answer: Option<RoleAnswer>,
}

/// What a role says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleAnswer {
    /// Whether it can do its work.
    pub is_ready: bool,
    /// Whether it is ending.
    pub is_draining: bool,
    /// What it depends on and misses, with its reasons.
    pub missing: Vec<String>,
    /// Its version, where it says one.
    pub version: Option<String>,
}
