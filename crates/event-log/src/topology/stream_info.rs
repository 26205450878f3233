//! What a stream's leader says of it.

use async_nats::jetstream::stream::Config;
use domain::Sequence;
use serde::Deserialize;

/// What a partition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionBounds {
    /// The first message; one past `last` when there is none.
    pub first: Sequence,
    /// The last sequence that was given out; 0 before the first.
    pub last: Sequence,
}

/// A stream as its leader describes it.
#[derive(Debug, Deserialize)]
pub(crate) struct StreamInfo {
    pub(crate) config: Config,
    pub(crate) state: StreamState,
    pub(crate) cluster: Option<StreamCluster>,
}

/// Which servers keep a stream.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct StreamCluster {
    pub(crate) leader: Option<String>,
    /// Those that follow the leader.
    #[serde(default)]
    pub(crate) replicas: Vec<StreamReplica>,
}

/// A server that follows a stream's leader.
#[derive(Debug, Deserialize)]
pub(crate) struct StreamReplica {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) current: bool,
    #[serde(default)]
    pub(crate) offline: bool,
}

/// What a stream holds.
#[derive(Debug, Deserialize)]
pub(crate) struct StreamState {
    pub(crate) messages: u64,
    #[serde(default)]
    pub(crate) bytes: u64,
    pub(crate) first_seq: u64,
    pub(crate) last_seq: u64,
}

impl StreamState {
    pub(crate) fn bounds(&self) -> PartitionBounds {
        PartitionBounds {
            first: Sequence(self.first_seq.max(1)),
            last: Sequence(self.last_seq),
        }
    }
}
