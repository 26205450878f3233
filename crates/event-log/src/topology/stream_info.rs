//! Configuration and state of a stream, as its leader returns them.

use async_nats::jetstream::stream::Config;
use domain::Sequence;
use serde::Deserialize;
use tokio::time::Instant;

use crate::connection::get::parse_timestamp;
use crate::connection::known_time::Answer;
use crate::error::Unavailable;

/// The first and last sequence of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionBounds {
    /// The first message; `last + 1` for an empty partition.
    pub first: Sequence,
    /// The last assigned sequence; 0 before the first message.
    pub last: Sequence,
}

/// The reply of `STREAM.INFO`.
#[derive(Debug, Deserialize)]
pub(crate) struct StreamInfo {
    pub(crate) config: Config,
    pub(crate) state: StreamState,
    /// When the stream was created (RFC 3339).
    pub(crate) created: String,
    /// The time of the answer by the server's clock (RFC 3339).
    pub(crate) ts: Option<String>,
    pub(crate) cluster: Option<StreamCluster>,
}

impl StreamInfo {
    /// The time of the server that was asked at `asked_at`, and answered now.
    pub(crate) fn time(&self, asked_at: Instant) -> Result<Answer, Unavailable> {
        let time = self.ts.as_deref().and_then(parse_timestamp);
        let time = time.ok_or(Unavailable::new("the answer of a server has no time"))?;
        Ok(Answer { time, asked_at, answered_at: Instant::now() })
    }
}

/// The replicas of a stream.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct StreamCluster {
    pub(crate) leader: Option<String>,
    /// The followers.
    #[serde(default)]
    pub(crate) replicas: Vec<StreamReplica>,
}

/// A follower of a stream's leader.
#[derive(Debug, Deserialize)]
pub(crate) struct StreamReplica {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) current: bool,
    #[serde(default)]
    pub(crate) offline: bool,
}

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
        PartitionBounds { first: Sequence(self.first_seq.max(1)), last: Sequence(self.last_seq) }
    }
}
