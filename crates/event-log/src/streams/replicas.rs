//! The replicas of the record's streams, and the removal of one from its server.

use std::collections::BTreeSet;
use std::iter;
use std::time::Duration;

use domain::Partition;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::connection::address::Address;
use crate::connection::{ApiFailure, CONNECT_TIMEOUT};
use crate::error::Unavailable;
use crate::record::Record;
use crate::topology::{self, StreamInfo};

/// Streams that are read concurrently.
const STREAMS_IN_FLIGHT: usize = 16;
/// Interval of reads while a new replica is awaited.
const READ_INTERVAL: Duration = Duration::from_millis(250);

/// Maximum wait until the servers know a server that has just joined.
const JOIN_MAX: Duration = Duration::from_secs(15);
/// "peer remap failed": no other server can take the replica. Nothing was changed.
const PEER_REMAP_FAILED: u64 = 10_075;

/// The content of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamKind {
    /// The commits of a partition.
    Commits,
    /// The run parts of a partition.
    Parts,
    /// The registry, the layout, the archive's catalogue, pending erasures, or logged calls.
    Other,
}

/// The replicas of a stream, from its leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamReplicas {
    /// The stream's name.
    pub stream: String,
    /// Its content.
    pub kind: StreamKind,
    /// The configured number of replicas.
    pub configured: usize,
    /// The leader's name; `None`: it has no leader now, or a single server does not return its name.
    pub leader: Option<String>,
    /// The names of the servers that have a replica, sorted; empty on a single server.
    pub servers: Vec<String>,
    /// The names of replicas that are offline or lag.
    pub behind: Vec<String>,
}

impl StreamReplicas {
    /// Whether every configured replica has a server and all messages.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete_except(None)
    }

    /// As [`StreamReplicas::is_complete`]; the replica of one server may lag or be offline.
    #[must_use]
    pub fn is_complete_except(&self, server: Option<&str>) -> bool {
        let mut behind = self.behind.iter();
        self.leader.is_some()
            && behind.all(|name| Some(name.as_str()) == server)
            && self.servers.len() == self.configured
    }

    pub(crate) fn of(kind: StreamKind, info: StreamInfo) -> Self {
        let cluster = info.cluster.unwrap_or_default();
        let leader = cluster.leader.filter(|leader| !leader.is_empty());
        let followers = cluster.replicas.iter().map(|replica| replica.name.clone());
        let mut servers: Vec<_> = followers.chain(leader.clone()).collect();
        servers.sort_unstable();
        let behind = cluster.replicas.into_iter().filter(|replica| replica.offline || !replica.current);
        Self {
            stream: info.config.name,
            kind,
            configured: info.config.num_replicas,
            leader,
            servers,
            behind: behind.map(|replica| replica.name).collect(),
        }
    }
}

#[derive(Deserialize)]
struct Answer {
    error: Option<ApiFailure>,
}

impl Record {
    /// The replicas of every stream of the record: commits by partition, parts by partition, then the others.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn stream_replicas(&self) -> Result<Vec<StreamReplicas>, Unavailable> {
        let partitions = || (0..self.layout().partitions()).map(Partition);
        let commits = partitions().map(topology::stream_name);
        let parts = partitions().map(topology::parts_stream_name);
        let others = topology::OTHER_STREAMS.map(str::to_owned).into_iter();
        let names = iter::empty()
            .chain(commits.map(|name| (StreamKind::Commits, name)))
            .chain(parts.map(|name| (StreamKind::Parts, name)))
            .chain(others.map(|name| (StreamKind::Other, name)));
        let reads = stream::iter(names)
            .map(async |(kind, name)| self.replicas_of(kind, &name).await)
            .buffered(STREAMS_IN_FLIGHT);
        let all: Vec<_> = reads.try_collect().await?;
        // Some streams exist only after their first use.
        Ok(all.into_iter().flatten().collect())
    }

    /// The names of the servers of `nats_url` that accept a connection now. A server that is new in the cluster has no replica, so
    /// the streams do not name it.
    ///
    /// # Errors
    /// [`Unavailable`]: `nats_url` cannot be parsed.
    pub async fn server_names(&self) -> Result<BTreeSet<String>, Unavailable> {
        let address = Address::parse(&self.config().nats_url)?;
        let mut names = BTreeSet::new();
        for server in &address.servers {
            let connecting = address.options().connect(server.clone());
            if let Ok(Ok(client)) = timeout(CONNECT_TIMEOUT, connecting).await {
                names.insert(client.server_info().server_name);
            }
        }
        Ok(names)
    }

    /// Removes a replica of a stream from its server. The cluster chooses another server, which copies the stream from the leader.
    /// Waits until all replicas are complete, and returns the new server; `None`: they are not until `deadline`, and the
    /// server may still be copying.
    ///
    /// Until the copy is complete, the stream has one replica less. So the others must be complete, and another server must exist.
    ///
    /// # Errors
    /// [`Unavailable`]: the servers reject the request or do not answer.
    pub async fn move_replica(
        &self,
        stream: &StreamReplicas,
        from: &str,
        deadline: Instant,
    ) -> Result<Option<String>, Unavailable> {
        self.remove_replica(&stream.stream, from).await?;
        while Instant::now() < deadline {
            // Nobody answers during an election.
            let replicas = self.replicas_of(stream.kind, &stream.stream).await;
            if let Ok(Some(now)) = replicas
                && now.is_complete()
                && !now.servers.iter().any(|server| server == from)
            {
                let mut servers = now.servers.into_iter();
                return Ok(servers.find(|server| !stream.servers.contains(server)));
            }
            sleep(READ_INTERVAL).await;
        }
        Ok(None)
    }

    async fn remove_replica(&self, stream: &str, from: &str) -> Result<(), Unavailable> {
        let request = format!("STREAM.PEER.REMOVE.{stream}");
        let peer = json!({"peer": from});
        let joined = Instant::now() + JOIN_MAX;
        loop {
            let answer: Answer = self.connection().api(&request, &peer, self.deadline()).await?;
            match answer.error {
                None => return Ok(()),
                Some(error) if error.err_code != PEER_REMAP_FAILED => {
                    return Err(Unavailable::new("the servers reject the removal of a replica"));
                }
                Some(_) if Instant::now() >= joined => {
                    return Err(Unavailable::new("no other server can take the replica"));
                }
                Some(_) => sleep(READ_INTERVAL).await,
            }
        }
    }

    async fn replicas_of(&self, kind: StreamKind, stream: &str) -> Result<Option<StreamReplicas>, Unavailable> {
        let info = topology::info(self.connection(), stream, self.deadline()).await?;
        Ok(info.map(|info| StreamReplicas::of(kind, info)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected`: whether it is complete, and whether it is except for `b`.
    fn check(leader: Option<&str>, servers: &[&str], behind: &[&str], expected: [bool; 2]) {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let stream = StreamReplicas {
            stream: "HANSARD_0".to_owned(),
            kind: StreamKind::Commits,
            configured: 3,
            leader: leader.map(str::to_owned),
            servers: names(servers),
            behind: names(behind),
        };
        let complete = [None, Some("b")].map(|server| stream.is_complete_except(server));
        assert_eq!((complete, stream.is_complete()), (expected, expected[0]));
    }

    #[test]
    fn complete_streams_have_all_replicas() {
        check(Some("a"), &["a", "b", "c"], &[], [true; 2]);
        check(Some("a"), &["a", "b", "c"], &["b"], [false, true]);
        check(Some("a"), &["a", "b", "c"], &["b", "c"], [false; 2]);
        check(Some("a"), &["a", "b"], &[], [false; 2]);
        check(None, &["a", "b", "c"], &[], [false; 2]);
    }
}
