//! The status report.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

/// The limits of a healthy system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The maximum age of the oldest message without rows.
    pub(crate) lag_max: Duration,
    /// The maximum number of unexplained holes of a partition: those that the operator knows.
    pub(crate) unexplained_max: u64,
}

/// The status of a system.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Status {
    /// The time of the readings, RFC 3339.
    pub(crate) at: String,
    /// What needs an operator; empty: the system is healthy.
    pub(crate) needs: Vec<String>,
    /// What an operator should know, but needs no action yet.
    pub(crate) warnings: Vec<String>,
    pub(crate) record: Answer<RecordStatus>,
    pub(crate) read_model: Answer<ReadModelStatus>,
    /// The record's partitions, in order.
    pub(crate) partitions: Vec<PartitionStatus>,
    /// The roles; `null`: not read.
    pub(crate) roles: Option<Vec<RoleStatus>>,
}

/// An answer, or the error.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Answer<T> {
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
pub(crate) struct RecordStatus {
    /// Its id, hexadecimal.
    pub(crate) id: String,
    /// Whether commits survive a power failure: `durable`, `not durable: …` or `unknown: …`.
    pub(crate) durability: String,
    /// The number of messages, one per commit.
    pub(crate) messages: u64,
    /// Their size, in bytes.
    pub(crate) size_bytes: u64,
    /// Erasures in progress: the conversations are unreadable, but not all commits are overwritten yet.
    pub(crate) erasures_pending: u64,
    /// The time of the oldest one, RFC 3339; `null`: there is none.
    pub(crate) erasures_pending_since: Option<String>,
}

/// The status of the read models.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReadModelStatus {
    /// The database's last migration.
    pub(crate) migration: i64,
    /// The last migration of this program.
    pub(crate) migration_known: i64,
    /// The live schema of each projection.
    pub(crate) live_schemas: BTreeMap<String, String>,
    /// The live projectors.
    pub(crate) projectors: Vec<String>,
    /// The number of parked conversations.
    pub(crate) parked: u64,
}

/// The status of a partition: its stream and its projection. Unknown values are `null`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartitionStatus {
    /// Its number.
    pub(crate) partition: u16,
    /// The last assigned sequence.
    pub(crate) last: u64,
    /// The number of messages in its stream.
    pub(crate) messages: u64,
    /// Sequences without a message, including those before the first message.
    pub(crate) holes: u64,
    /// Holes of archived commits.
    pub(crate) holes_archived: u64,
    /// Holes of erased commits; `null`: unknown, or the rows lag behind the record.
    pub(crate) holes_erased: Option<u64>,
    /// Other holes: messages that were lost or removed by hand. `null`: as above.
    pub(crate) holes_unexplained: Option<u64>,
    /// The configured number of replicas.
    pub(crate) replicas: usize,
    pub(crate) leader: Option<String>,
    /// Replicas that are offline or lag.
    pub(crate) behind: Vec<String>,
    /// The projector that holds its lease.
    pub(crate) holder: Option<String>,
    /// The epoch of the lease.
    pub(crate) epoch: Option<u64>,
    /// The last sequence in the rows.
    pub(crate) checkpoint: Option<u64>,
    /// Sequences after the checkpoint, including holes.
    pub(crate) lag_sequences: Option<u64>,
    /// The age of the oldest message without rows, in seconds; 0: there is none.
    pub(crate) lag_seconds: Option<f64>,
    /// The number of its parked conversations.
    pub(crate) parked: Option<u64>,
}

/// The status of a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RoleStatus {
    /// Its name.
    pub(crate) role: String,
    /// The address of its admin listener.
    pub(crate) address: String,
    /// `ready`, `not ready`, `draining` or `no answer`.
    pub(crate) state: &'static str,
    /// The dependencies that are down.
    pub(crate) missing: Vec<String>,
    /// Its version, if it is known.
    pub(crate) version: Option<String>,
}
