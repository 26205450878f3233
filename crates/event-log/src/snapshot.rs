//! Server-side snapshots of a stream while it is in use. Sequences are included, so positions stay valid.

use async_nats::{StatusCode, Subscriber};
use bytes::Bytes;
use domain::Partition;
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::{Record, Unavailable, topology};

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
        let number = self.state.get(field).and_then(Value::as_u64);
        number.unwrap_or_default()
    }
}

impl Record {
    /// The streams of the record: partitions, run parts, the restricted bucket, the archive's catalogue, the layout of a record
    /// that has grown, and last the registry. Logged calls are excluded: a backup would keep them longer than their agents' settings allow.
    #[must_use]
    pub fn stream_names(&self) -> Vec<String> {
        let partitions = || (0..self.partitions()).map(Partition);
        let commits = partitions().map(topology::stream_name);
        let parts = partitions().map(topology::parts_stream_name);
        let has_grown = self.layout().generations().len() > 1;
        let layout = has_grown.then_some(topology::LAYOUT_STREAM);
        let others = [topology::RESTRICTED_STREAM, topology::ARCHIVE_STREAM];
        let others = others.into_iter().chain(layout);
        let others = others.chain([topology::REGISTRY_STREAM]).map(str::to_owned);
        commits.chain(parts).chain(others).collect()
    }

    /// Starts a snapshot of a stream. The server checks the messages as it reads them.
    ///
    /// # Errors
    /// [`Unavailable`], also when the stream does not exist or its store is damaged.
    pub async fn snapshot(&self, stream: &str) -> Result<Snapshot, Unavailable> {
        let connection = self.connection();
        let deadline = self.deadline();
        connection.ready(deadline).await?;
        let inbox = connection.client.new_inbox();
        let lost = Unavailable::new("the connection to NATS was lost");
        let subscribing = connection.client.subscribe(inbox.clone());
        let chunks = timeout_at(deadline, subscribing).await;
        let chunks = chunks.map_err(|_| lost)?.map_err(|_| lost)?;
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
        Ok(Snapshot {
            description: StreamDescription { config, state },
            record: self.clone(),
            chunks,
        })
    }
}

impl Snapshot {
    /// The next chunk; `None`: the snapshot is complete.
    ///
    /// # Errors
    /// [`Unavailable`] when the server aborts, or no chunk arrives within the request timeout: start a new snapshot.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Unavailable> {
        let deadline: Instant = self.record.deadline();
        let lost = Unavailable::new("a snapshot was interrupted");
        let chunk = timeout_at(deadline, self.chunks.next()).await;
        let chunk = chunk.map_err(|_| lost)?.ok_or(lost)?;
        if let Some(reply) = chunk.reply {
            let client = &self.record.connection().client;
            let acknowledged = client.publish(reply, Bytes::new()).await;
            acknowledged.map_err(|_| lost)?;
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
