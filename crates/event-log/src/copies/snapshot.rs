//! Server-side snapshots of a stream while it is in use. Sequences are included, so positions stay valid.

use async_nats::{StatusCode, Subscriber};
use bytes::Bytes;
use domain::{Layout, Partition};
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::error::Unavailable;
use crate::record::Record;
use crate::topology;

/// Bytes of one chunk of a snapshot.
const CHUNK_BYTES: usize = 128 * 1024;
/// The status that ends a snapshot, if the server sends one.
const END: u16 = 204;

/// The configuration and state of a stream, which a restore sends back to the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamDescription {
    /// The stream's configuration.
    pub config: Value,
    /// The stream's state.
    pub state: Value,
}

/// A snapshot in progress.
#[derive(Debug)]
pub struct Snapshot {
    /// The stream at the time of the snapshot.
    pub description: StreamDescription,
    record: Record,
    chunks: Subscriber,
    /// After a reconnect, no chunk arrives.
    reconnects: watch::Receiver<u64>,
}

/// The streams of a record, in the order in which a backup copies them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOrder {
    /// The streams that are copied first, at the same time: partitions, run parts, the restricted bucket, and the layout of a
    /// record that has grown.
    pub first: Vec<String>,
    /// The streams that are copied after all of them, one by one. The archive's catalogue then lists every segment whose commits
    /// were trimmed from a partition meanwhile, and the registry has every tenant and agent that the conversations name.
    pub last: [String; 2],
}

#[derive(Deserialize)]
struct Answer {
    config: Option<Value>,
    state: Option<Value>,
}

impl StreamDescription {
    /// The last sequence of the stream.
    #[must_use]
    pub fn last_sequence(&self) -> u64 {
        self.number("last_seq")
    }

    /// The number of messages.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.number("messages")
    }

    fn number(&self, field: &str) -> u64 {
        self.state.get(field).and_then(Value::as_u64).unwrap_or_default()
    }
}

impl CopyOrder {
    /// The streams of a record with this layout, partition 0 first. Logged calls are excluded: a backup would keep them longer
    /// than their agents' settings allow.
    #[must_use]
    pub fn of(layout: &Layout) -> Self {
        let partitions = || (0..layout.partitions()).map(Partition);
        let commits = partitions().map(topology::stream_name);
        let parts = partitions().map(topology::parts_stream_name);
        let has_grown = layout.generations().len() > 1;
        let layout = has_grown.then_some(topology::LAYOUT_STREAM);
        let others = [topology::RESTRICTED_STREAM].into_iter().chain(layout);
        let last = [topology::ARCHIVE_STREAM, topology::REGISTRY_STREAM];
        Self { first: commits.chain(parts).chain(others.map(str::to_owned)).collect(), last: last.map(str::to_owned) }
    }
}

impl Record {
    /// The streams of the record, in the order of [`CopyOrder`].
    #[must_use]
    pub fn stream_names(&self) -> Vec<String> {
        let CopyOrder { first, last } = CopyOrder::of(&self.layout());
        first.into_iter().chain(last).collect()
    }

    /// Starts a snapshot of a stream. The server checks the messages as it reads them.
    ///
    /// # Errors
    /// [`Unavailable`], also when the stream does not exist or its store is damaged.
    pub async fn snapshot(&self, stream: &str) -> Result<Snapshot, Unavailable> {
        let connection = self.connection();
        let deadline = self.deadline();
        connection.ready(deadline).await?;
        let reconnects = connection.reconnects();
        let inbox = connection.client.new_inbox();
        let lost = Unavailable::new("the connection to NATS was lost");
        let subscribing = connection.client.subscribe(inbox.clone());
        let chunks = timeout_at(deadline, subscribing).await.map_err(|_| lost)?.map_err(|_| lost)?;
        let request = json!({
            "deliver_subject": inbox,
            "no_consumers": true,
            "chunk_size": CHUNK_BYTES,
            "jsck": true,
        });
        let snapshot = format!("STREAM.SNAPSHOT.{stream}");
        let answer: Answer = connection.api(&snapshot, &request, deadline).await?;
        let (Some(config), Some(state)) = (answer.config, answer.state) else {
            return Err(Unavailable::new("the server rejected a snapshot"));
        };
        Ok(Snapshot { description: StreamDescription { config, state }, record: self.clone(), chunks, reconnects })
    }
}

impl Snapshot {
    /// The next chunk; `None`: the snapshot is complete.
    ///
    /// # Errors
    /// [`Unavailable`] when the server aborts, the connection is lost, or no chunk arrives within the request timeout: start a new
    /// snapshot.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Unavailable> {
        let deadline: Instant = self.record.deadline();
        let lost = Unavailable::new("a snapshot was interrupted");
        let chunk = tokio::select! {
            biased;
            chunk = timeout_at(deadline, self.chunks.next()) => chunk.map_err(|_| lost)?.ok_or(lost)?,
            _ = self.reconnects.changed() => return Err(lost),
        };
        if let Some(reply) = chunk.reply {
            let client = &self.record.connection().client;
            client.publish(reply, Bytes::new()).await.map_err(|_| lost)?;
        }
        if !chunk.payload.is_empty() {
            return Ok(Some(chunk.payload));
        }
        match chunk.status.as_ref().map(StatusCode::as_u16) {
            None | Some(END) => Ok(None),
            Some(_) => Err(Unavailable::new("the server aborted a snapshot")),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::Stage;

    use super::*;

    fn check(layout: &Layout, first: &[&str]) {
        let expected = CopyOrder {
            first: first.iter().map(|name| (*name).to_owned()).collect(),
            last: ["HANSARD_ARCHIVE", "KV_HANSARD_registry"].map(str::to_owned),
        };
        assert_eq!(CopyOrder::of(layout), expected, "{layout:?}");
    }

    #[test]
    fn the_catalogue_is_copied_after_every_partition() {
        check(
            &Layout::new(2),
            &["HANSARD_0", "HANSARD_1", "HANSARD_PARTS_0", "HANSARD_PARTS_1", "KV_HANSARD_restricted"],
        );
        for stage in [Stage::Announced, Stage::Closing, Stage::Open] {
            check(
                &Layout::from_parts(&[1, 3], stage).unwrap(),
                &[
                    "HANSARD_0",
                    "HANSARD_1",
                    "HANSARD_2",
                    "HANSARD_PARTS_0",
                    "HANSARD_PARTS_1",
                    "HANSARD_PARTS_2",
                    "KV_HANSARD_restricted",
                    "HANSARD_LAYOUT",
                ],
            );
        }
    }
}
