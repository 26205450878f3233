//! The status report.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

/// The limits of a healthy system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum age of the oldest message without rows.
    pub lag_max: Duration,
    /// The maximum number of unexplained holes of a partition: those that the operator knows.
    pub unexplained_max: u64,
}

/// The default of [`Limits::lag_max`], in seconds.
pub const LAG_MAX_SECONDS_DEFAULT: u64 = 30;

impl Default for Limits {
    fn default() -> Self {
        Self { lag_max: Duration::from_secs(LAG_MAX_SECONDS_DEFAULT), unexplained_max: 0 }
    }
}

/// The status of a system.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The time of the readings, RFC 3339.
    pub at: String,
    /// What needs an operator; empty: the system is healthy.
    pub needs: Vec<String>,
    /// What an operator should know, but needs no action yet.
    pub warnings: Vec<String>,
    /// The record.
    pub record: Answer<RecordStatus>,
    /// The read models.
    pub read_model: Answer<ReadModelStatus>,
    /// The shards of the read models, in order.
    pub shards: Vec<ShardStatus>,
    /// The named replicas of Postgres, in order.
    pub replicas: Vec<ReplicaReport>,
    /// The search; `null`: record or rows do not answer, or the rows have no search yet.
    pub search: Option<SearchStatus>,
    /// The record's partitions, in order.
    pub partitions: Vec<PartitionStatus>,
    /// The keys that end within 14 days or have ended, by their end; the first [`ENDING_KEYS_MAX`] of them.
    pub ending_keys: Vec<EndingKeyStatus>,
    /// The roles; `null`: not read.
    pub roles: Option<Vec<RoleStatus>>,
}

/// An answer, or the error.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer<T> {
    /// The answer.
    Received(T),
    /// No answer.
    Failed {
        /// The cause.
        error: String,
    },
}

/// The status of the record.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordStatus {
    /// Its id, hexadecimal.
    pub id: String,
    /// Whether commits survive a power failure: `durable`, `not durable: …` or `unknown: …`.
    pub durability: String,
    /// The number of partitions whose concurrent commits share a sync.
    pub group_commit_partitions: usize,
    /// The number of messages, one per commit.
    pub messages: u64,
    /// Their size, in bytes.
    pub size_bytes: u64,
    /// Erasures in progress: the conversations are unreadable, but not all commits are overwritten yet.
    pub erasures_pending: u64,
    /// The time of the oldest one, RFC 3339; `null`: there is none.
    pub erasures_pending_since: Option<String>,
}

/// The status of the read models.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadModelStatus {
    /// The database's last migration.
    pub migration: i64,
    /// The lowest migration that a program must know to use the database.
    pub migration_floor: i64,
    /// The last migration of this program.
    pub migration_known: i64,
    /// The live schema of each projection.
    pub live_schemas: BTreeMap<String, String>,
    /// The live projectors.
    pub projectors: Vec<String>,
    /// The number of parked conversations.
    pub parked: u64,
    /// Whether Postgres is read-only, so that no projector can write.
    pub read_only: bool,
}

/// The status of a shard: the database with the rows of some tenants.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShardStatus {
    /// Its name; its address, if its name is unknown.
    pub name: String,
    /// Its rows.
    pub read_model: Answer<ReadModelStatus>,
    /// Its rows of each of the record's partitions, in order.
    pub partitions: Vec<ShardPartition>,
}

/// The rows of a partition in a shard.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShardPartition {
    /// Its number.
    pub partition: u16,
    /// Its projection.
    #[serde(flatten)]
    pub rows: PartitionRows,
}

/// The status of a replica of Postgres.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaReport {
    /// Its address.
    pub name: String,
    /// `ready`, `lagging`, `not a replica of this database`, `no answer`, or `unknown`, if the primary does not answer.
    pub state: &'static str,
    /// The time after which it had what the primary had; `null`: it did not get that in time.
    pub lag_seconds: Option<f64>,
    /// Why it does not answer; `null`: it does.
    pub error: Option<String>,
}

/// The status of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchStatus {
    /// Sequences after the checkpoints, of all partitions, including holes.
    pub lag_sequences: u64,
    /// Number of documents, as the planner of Postgres estimates it.
    pub documents: u64,
    /// Size of the documents without their indexes, in bytes.
    pub documents_bytes: u64,
    /// Size of the indexes, in bytes.
    pub index_bytes: u64,
}

/// The status of a partition: its stream and its projection. Unknown values are `null`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionStatus {
    /// Its number.
    pub partition: u16,
    /// The last assigned sequence.
    pub last: u64,
    /// The number of messages in its stream.
    pub messages: u64,
    /// Sequences without a message, including those before the first message.
    pub holes: u64,
    /// Holes of archived commits.
    pub holes_archived: u64,
    /// Holes of erased commits; `null`: unknown, or the rows lag behind the record.
    pub holes_erased: Option<u64>,
    /// Other holes: messages that were lost or removed by hand. `null`: as above.
    pub holes_unexplained: Option<u64>,
    /// The configured number of replicas.
    pub replicas: usize,
    /// The NATS server that leads it.
    pub leader: Option<String>,
    /// Replicas that are offline or lag.
    pub behind: Vec<String>,
    /// Its projection in the first database.
    #[serde(flatten)]
    pub rows: PartitionRows,
}

/// The status of the projection of a partition. Unknown values are `null`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionRows {
    /// The projector that holds its lease.
    pub holder: Option<String>,
    /// The epoch of the lease.
    pub epoch: Option<u64>,
    /// The last sequence in the rows.
    pub checkpoint: Option<u64>,
    /// Sequences after the checkpoint, including holes.
    pub lag_sequences: Option<u64>,
    /// The age of the oldest message without rows, in seconds; 0: there is none.
    pub lag_seconds: Option<f64>,
    /// The number of its parked conversations.
    pub parked: Option<u64>,
}

/// Maximum number of keys in [`Status::ending_keys`].
pub const ENDING_KEYS_MAX: usize = 100;

/// A key that ends soon, or has ended and was neither revoked, retired nor replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndingKeyStatus {
    /// `api_key`, `service_token` or `signing_key`.
    pub kind: &'static str,
    /// Its id.
    pub id: String,
    /// Its tenant; empty: a service token of all tenants.
    pub tenant: String,
    /// Its end, RFC 3339.
    pub ends_at: String,
    /// Whether it has ended.
    pub has_ended: bool,
}

/// The status of a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleStatus {
    /// Its name.
    pub role: String,
    /// The address of its admin listener.
    pub address: String,
    /// `ready`, `not ready`, `draining` or `no answer`.
    pub state: &'static str,
    /// The dependencies that are down.
    pub missing: Vec<String>,
    /// Its version, if it is known.
    pub version: Option<String>,
}
