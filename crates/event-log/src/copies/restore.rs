//! Restores streams from their snapshots on an empty server.
//!
//! The marker stream `HANSARD_RESTORING` exists from before the first restored stream until the restore is complete. It
//! identifies an interrupted restore and its backup, so that the restore can continue. A server with streams and without
//! the marker is rejected. While the marker exists, only the restore opens the record.

use async_nats::Message;
use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::Instant;

use crate::connection::config::RecordConfig;
use crate::connection::{ApiFailure, Connection, Outgoing};
use crate::copies::snapshot::StreamDescription;
use crate::error::{RecordError, Unavailable};
use crate::record::Record;
use crate::topology;
use crate::topology::restore_marker::{KEY_BACKUP, MARKER_STREAM, MARKER_SUBJECT, marked_backup};

/// Errors of a restore.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// The server has a stream; a restore needs an empty server.
    #[error("the server already has a stream ({stream}): restore on an empty server")]
    Occupied {
        /// One of the server's streams.
        stream: String,
    },
    /// The server has an unfinished restore of another backup.
    #[error(
        "the server has an unfinished restore of another backup ({backup}): continue that one, or restore on an empty server"
    )]
    OtherBackup {
        /// The name of the other backup.
        backup: String,
    },
    /// The server rejected the snapshot of a stream.
    #[error("the server rejected the snapshot of {stream}: {reason}")]
    Refused {
        /// The stream.
        stream: String,
        /// The server's error text.
        reason: String,
    },
    /// A snapshot file cannot be read.
    #[error("a snapshot file cannot be read")]
    Archive(#[source] std::io::Error),
    /// The configuration is invalid, or the server is not durable.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The server does not answer. Restored streams stay, and the next attempt continues.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// A restore on a server that is empty or has an interrupted restore of the same backup.
#[derive(Debug)]
pub struct Restore {
    connection: Connection,
    config: RecordConfig,
    backup: String,
    is_resumed: bool,
}

#[derive(Deserialize)]
struct Answer {
    deliver_subject: Option<String>,
    error: Option<ApiFailure>,
}

impl Restore {
    /// Checks the server. `backup` is the unique name of the backup.
    ///
    /// # Errors
    /// [`RestoreError::Occupied`], [`RestoreError::OtherBackup`], [`RestoreError::Record`] or [`RestoreError::Unavailable`].
    pub async fn prepare(backup: String, config: RecordConfig) -> Result<Self, RestoreError> {
        config.check()?;
        let connection = Connection::open(&config).await.map_err(RecordError::from)?;
        let deadline = Instant::now() + config.request_timeout();
        let stream = connection.any_stream(&json!({}), deadline).await?;
        match (marked_backup(&connection, deadline).await?, stream) {
            (Some(marked), _) if marked != backup => Err(RestoreError::OtherBackup { backup: marked }),
            (None, Some(stream)) => Err(RestoreError::Occupied { stream }),
            (marked, _) => Ok(Self { connection, config, backup, is_resumed: marked.is_some() }),
        }
    }

    /// Whether the server has an interrupted restore of the backup.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// Creates the marker before the first stream. Until [`Restore::end`], the restore can be continued. The marker has as
    /// many replicas as a stream of the backup.
    ///
    /// # Errors
    /// [`RestoreError::Refused`] or [`RestoreError::Unavailable`].
    pub async fn begin(&self, description: &StreamDescription) -> Result<(), RestoreError> {
        let replicas = description.config.get("num_replicas");
        let marker = json!({
            "name": MARKER_STREAM,
            "description": "A restore that is not at its end",
            "subjects": [MARKER_SUBJECT],
            "retention": "limits",
            "storage": "file",
            "max_msgs": 1,
            "num_replicas": replicas.cloned().unwrap_or(json!(1)),
            "metadata": {KEY_BACKUP: self.backup},
        });
        if self.is_resumed {
            return Ok(());
        }
        self.marker_request("CREATE", &marker).await
    }

    /// Opens the restored record before the end of the restore.
    ///
    /// # Errors
    /// [`RecordError`], such as [`RecordError::Missing`] before all streams are restored.
    pub async fn record(&self) -> Result<Record, RecordError> {
        let connection = Connection::open(&self.config).await?;
        Record::attach(connection, self.config.clone()).await
    }

    /// Removes the marker: the restore is complete.
    ///
    /// # Errors
    /// [`RestoreError::Refused`] or [`RestoreError::Unavailable`].
    pub async fn end(&self) -> Result<(), RestoreError> {
        self.marker_request("DELETE", &json!({})).await
    }

    /// Sends a request about the marker stream.
    async fn marker_request(&self, what: &str, body: &Value) -> Result<(), RestoreError> {
        let request = format!("STREAM.{what}.{MARKER_STREAM}");
        let answer: Answer = self.connection.api(&request, body, self.deadline()).await?;
        answer.error.map_or(Ok(()), |failure| {
            Err(RestoreError::Refused { stream: MARKER_STREAM.to_owned(), reason: failure.description })
        })
    }

    /// Restores one stream from the chunks of its snapshot, in order. An existing stream is complete: the server shows a stream
    /// only once it has all of it.
    ///
    /// # Errors
    /// [`RestoreError`].
    pub async fn stream(
        &self,
        name: &str,
        description: &StreamDescription,
        mut archive: impl Stream<Item = std::io::Result<Bytes>> + Unpin,
    ) -> Result<(), RestoreError> {
        if self.is_resumed && self.is_restored(name, description).await? {
            return Ok(());
        }
        let request = format!("STREAM.RESTORE.{name}");
        let answer: Answer = self.connection.api(&request, description, self.deadline()).await?;
        let rejected = |reason: String| RestoreError::Refused { stream: name.to_owned(), reason };
        if let Some(failure) = answer.error {
            return Err(rejected(failure.description));
        }
        let no_subject = || rejected("the reply has no deliver_subject".to_owned());
        let deliver = answer.deliver_subject.ok_or_else(no_subject)?;
        while let Some(chunk) = archive.next().await {
            let reply = self.send(&deliver, chunk.map_err(RestoreError::Archive)?);
            if let Some(reason) = failure(&reply.await?) {
                return Err(rejected(reason));
            }
        }
        // An empty chunk ends the snapshot; its reply arrives once the stream exists.
        let reply = self.send(&deliver, Bytes::new()).await?;
        failure(&reply).map_or(Ok(()), |reason| Err(rejected(reason)))
    }

    /// Whether an earlier attempt restored the stream.
    async fn is_restored(&self, name: &str, description: &StreamDescription) -> Result<bool, RestoreError> {
        let info = topology::info(&self.connection, name, self.deadline()).await?;
        let Some(info) = info else {
            return Ok(false);
        };
        if info.state.last_seq >= description.last_sequence() {
            return Ok(true);
        }
        Err(RestoreError::Refused {
            stream: name.to_owned(),
            reason: "the stream exists but ends before its snapshot: empty the server".to_owned(),
        })
    }

    async fn send(&self, subject: &str, payload: Bytes) -> Result<Message, Unavailable> {
        let outgoing = Outgoing { subject: subject.to_owned(), headers: None, payload };
        self.connection.request(outgoing, self.deadline()).await
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.config.request_timeout()
    }
}

/// The error of a reply; most replies are empty.
fn failure(reply: &Message) -> Option<String> {
    let answer: Answer = serde_json::from_slice(&reply.payload).ok()?;
    answer.error.map(|failure| failure.description)
}
