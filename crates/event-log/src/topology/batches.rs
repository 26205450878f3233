//! Whether the partitions' streams accept atomic batches. Records of earlier versions and of earlier servers do not.

use std::time::Duration;

use async_nats::jetstream::stream::Config;
use domain::Partition;
use tokio::time::Instant;

use super::{Answer, Topology, stream_name};
use crate::Unavailable;
use crate::connection::Connection;

/// Timeout of a change: a user without the permission gets no reply.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(1);
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
        let name = stream.name.clone();
        if let Err(error) = update(connection, stream, deadline).await {
            tracing::warn!(
                stream = name, %error,
                "the stream does not accept batches: commits are published one by one; run `hansard bootstrap` as a NATS user that may change streams"
            );
            return;
        }
    }
}

async fn update(connection: &Connection, stream: Config, deadline: Instant) -> Result<(), Unavailable> {
    let request = format!("STREAM.UPDATE.{}", stream.name);
    let stream = Config { allow_atomic_publish: true, ..stream };
    let deadline = deadline.min(Instant::now() + CHANGE_TIMEOUT);
    let answer: Answer = connection.api(&request, &stream, deadline).await?;
    match answer.error {
        None => Ok(()),
        Some(_) => Err(Unavailable::new("the server rejected the change of a stream")),
    }
}
