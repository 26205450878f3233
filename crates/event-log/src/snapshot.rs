//! A stream as one archive, taken by the server itself while it goes on: sequences and all, so that positions stay true.

use async_nats::{StatusCode, Subscriber};
use bytes::Bytes;
use domain::Partition;
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::error::Unavailable;
use crate::record::Record;
use crate::topology;

/// Bytes of one piece of an archive.
const CHUNK_BYTES: usize = 128 * 1024;
/// The status of the end of an archive, where the server gives one.
const END: u16 = 204;

/// A stream as its server describes it, which it wants to hear again when the stream is restored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamDescription {
    /// How it is set up.
    pub config: Value,
    /// What it held.
    pub state: Value,
}

/// An archive on its way.
#[derive(Debug)]
pub struct Snapshot {
    /// The stream, as of the archive.
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
    /// The last sequence that the stream had given out.
    #[must_use]
    pub fn last_sequence(&self) -> u64 {
        self.number("last_seq")
    }

    /// How many messages it held.
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
    /// The streams of the record: its partitions, the parts of their runs, the restricted bucket, the archive's
    /// catalogue, and last the registry.
    /// Logged calls are not among them: an archive would keep them for longer than their agents' settings do.
    #[must_use]
    pub fn stream_names(&self) -> Vec<String> {
        let partitions = || (0..self.partitions()).map(Partition);
        let commits = partitions().map(topology::stream_name);
        let parts = partitions().map(topology::parts_stream_name);
        let others = [
            topology::RESTRICTED_STREAM,
            topology::ARCHIVE_STREAM,
            topology::REGISTRY_STREAM,
        ]
        .map(str::to_owned);
        commits.chain(parts).chain(others).collect()
    }

    /// Begins the archive of a stream, whose messages the server checks as it reads them.
    ///
    /// # Errors
    /// [`Unavailable`], also when there is no such stream or its store is damaged.
    pub async fn snapshot(&self, stream: &str) -> Result<Snapshot, Unavailable> {
        let connection = self.connection();
        let deadline = self.deadline();
        connection.ready(deadline).await?;
        let inbox = connection.client.new_inbox();
        let lost = Unavailable::new("the connection was lost");
        let subscribing = connection.client.subscribe(inbox.clone());
        let chunks = timeout_at(deadline, subscribing).await;
        let chunks = chunks.map_err(|_| lost)?.map_err(|_| lost)?;
        let request = json!({
            "deliver_subject": inbox,
            "no_consumers": true,
            "chunk_size": CHUNK_BYTES,
            "jsck": true,
        });
        let subject = connection.api_subject(&format!("STREAM.SNAPSHOT.{stream}"));
        let answer: Answer = connection.api(subject, &request, deadline).await?;
        let (Some(config), Some(state)) = (answer.config, answer.state) else {
            return Err(Unavailable::new("the server refused to archive a stream"));
        };
        Ok(Snapshot {
            description: StreamDescription { config, state },
            record: self.clone(),
            chunks,
        })
    }
}

impl Snapshot {
    /// The next piece; `None`: that was all of it.
    ///
    /// # Errors
    /// [`Unavailable`] when the server gives up, or no piece comes within the request timeout: the archive is lost.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Unavailable> {
        let deadline: Instant = self.record.deadline();
        let lost = Unavailable::new("an archive was lost on its way");
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
            Some(_) => Err(Unavailable::new("the server gave an archive up")),
        }
    }
}
