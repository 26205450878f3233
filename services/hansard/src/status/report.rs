//! What is made of the readings: the report. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

/// What is still well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How old the oldest message may be that is in no row.
    pub lag_max: Duration,
    /// How many of a partition's holes may be unexplained: those that somebody knows of.
    pub unexplained_max: u64,
}

/// How a system stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// When it was looked at: RFC 3339.
    pub at: String,
    /// What needs an operator, each in words; empty: all is well.
    pub needs: Vec<String>,
    /// What is no trouble yet, and should be known.
    pub warnings: Vec<String>,
    /// The record.
    pub record: Answer<RecordStatus>,
    /// The read models.
    pub read_model: Answer<ReadModelStatus>,
    /// The record's partitions, in order.
    pub partitions: Vec<PartitionStatus>,
    /// The roles that were asked; `null`: none was.
    pub roles: Option<Vec<RoleStatus>>,
}

/// What somebody answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer<T> {
    /// It answered.
    Told(T),
    /// It did not.
    Silent {
        /// Why, in words.
        error: String,
    },
}

/// The record as a whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordStatus {
    /// Its id, in hexadecimal.
    pub id: String,
    /// Whether it is seen to outlive a power failure: `durable`, `not durable: …` or `unknown: …`.
    pub durability: String,
    /// Its messages, one a commit.
    pub messages: u64,
    /// What they take, in bytes.
    pub size_bytes: u64,
    /// Erasures in progress: nobody can read these conversations, and commits of theirs are not overwritten yet.
    pub erasures_pending: u64,
    /// When the oldest of them was asked for, RFC 3339; `null`: there is none.
    pub erasures_pending_since: Option<String>,
}

/// The read models as a whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadModelStatus {
    /// The database's last migration.
    pub migration: i64,
    /// The last migration that this program knows.
    pub migration_known: i64,
    /// The schema that readers of each projection use.
    pub live_schemas: BTreeMap<String, String>,
    /// The projectors that are alive.
    pub projectors: Vec<String>,
    /// Conversations that cannot be projected.
    pub parked: u64,
}

/// A partition: its stream, and how it is projected. What the read models did not tell is `null`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionStatus {
    /// Its number.
    pub partition: u16,
    /// The last sequence that was given out.
    pub last: u64,
    /// How many messages its stream holds.
    pub messages: u64,
    /// Sequences up to the last that hold nothing, those before the first message among them.
    pub holes: u64,
    /// How many of the holes are commits that are in the archive.
    pub holes_archived: u64,
    /// How many of the holes erasures made; `null`: the rows cannot say, or have not come to the end that was seen.
    pub holes_erased: Option<u64>,
    /// How many of the holes nothing explains: messages that are lost, or that somebody else removed. `null`: as above.
    pub holes_unexplained: Option<u64>,
    /// On how many servers it is to be kept.
    pub replicas: usize,
    /// The server that leads it.
    pub leader: Option<String>,
    /// Servers that keep it and are away or behind.
    pub behind: Vec<String>,
    /// The projector that holds it.
    pub holder: Option<String>,
    /// The number of that or the last holder.
    pub epoch: Option<u64>,
    /// The last sequence that the rows hold.
    pub checkpoint: Option<u64>,
    /// Sequences that the rows do not hold, holes among them.
    pub lag_sequences: Option<u64>,
    /// The age of the oldest message that the rows do not hold, in seconds; 0: there is none.
    pub lag_seconds: Option<f64>,
    /// Its conversations that are parked.
    pub parked: Option<u64>,
}

/// A role that was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleStatus {
    /// Its name.
    pub role: String,
    /// Where it was asked.
    pub address: String,
    /// `ready`, `not ready`, `draining` or `no answer`.
    pub state: &'static str,
    /// What it depends on and misses.
    pub missing: Vec<String>,
    /// Its version, where it said one.
    pub version: Option<String>,
}
