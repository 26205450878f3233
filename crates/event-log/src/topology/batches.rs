//! Whether the partitions' streams accept atomic batches. Records of earlier versions and of earlier servers do not.

use async_nats::jetstream::stream::Config;
use domain::Partition;
use tokio::time::Instant;

use super::stream_update::update;
use super::{Topology, stream_name};
use crate::connection::Connection;

/// The first version of nats-server that syncs a batch once.
const SERVER: (i64, i64, i64) = (2, 15, 0);

/// Whether the server stores batches with one sync.
pub(super) fn allowed_by(connection: &Connection) -> bool {
    let (major, minor, patch) = SERVER;
    connection.client.is_server_compatible(major, minor, patch)
}

/// The number of replicas of streams that all accept batches; `None`: a partition does not.
pub(crate) fn accept_batches(topology: &Topology) -> Option<usize> {
    let partitions = (0..topology.layout.layout.partitions()).map(|number| stream_name(Partition(number)));
    let mut replicas = None;
    for name in partitions {
        let mut streams = topology.streams.iter();
        let stream = streams.find(|stream| stream.name == name)?;
        replicas = stream.allow_atomic_publish.then_some(stream.num_replicas);
        replicas?;
    }
    replicas
}

/// Lets existing streams accept batches. Without the permission to change streams the record stays as it is.
pub(super) async fn allow(connection: &Connection, streams: Vec<Config>, deadline: Instant) {
    let without = |stream: &Config| !stream.allow_atomic_publish;
    for stream in streams.into_iter().filter(without) {
        let stream = Config { allow_atomic_publish: true, ..stream };
        if let Err(error) = update(connection, &stream, deadline).await {
            tracing::warn!(
                stream = stream.name, %error,
                "the stream does not accept batches: commits are published one by one; run `hansard bootstrap` as a NATS user that may change streams"
            );
            return;
        }
    }
}
