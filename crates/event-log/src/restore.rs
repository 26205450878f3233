//! Streams made again from their archives, on a server that has none.
//!
//! A stream of its own, `HANSARD_RESTORING`, stands on the server from before the first of them until all that a restore has to do
//! is done. By it one that was cut short is known, and what it was of, and it is gone on with; without it a server that has
//! streams is left alone.

use async_nats::Message;
use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::Instant;

use crate::config::RecordConfig;
use crate::connection::{Connection, Outgoing};
use crate::error::{RecordError, Unavailable};
use crate::snapshot::StreamDescription;
use crate::topology;

/// The stream that says that a restore is not at its end.
const MARKER_STREAM: &str = "HANSARD_RESTORING";
const MARKER_SUBJECT: &str = "hansard-restoring";
/// Which backup is being restored, in the marker's metadata.
const KEY_BACKUP: &str = "hansard_backup";

/// Why a record cannot be restored.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// The server has a stream: a record is only restored where there is nothing.
    #[error("the server has a stream already ({stream}): restore on an empty one")]
    Occupied {
        /// One of its streams.
        stream: String,
    },
    /// The server has an unfinished restore of another backup.
    #[error(
        "the server has an unfinished restore of another backup ({backup}): go on with that one, or restore on an empty server"
    )]
    Another {
        /// How the other backup is named.
        backup: String,
    },
    /// The server does not take an archive.
    #[error("the server refuses the archive of {stream}: {reason}")]
    Refused {
        /// Which stream's.
        stream: String,
        /// Why, in the server's words.
        reason: String,
    },
    /// An archive cannot be read.
    #[error("an archive cannot be read")]
    Archive(#[source] std::io::Error),
    /// The configuration cannot work, or the server is not durable.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The server does not answer. What was restored so far stands, and the next try goes on.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// A server that has no streams, or those of a restore of the same backup that was cut short.
#[derive(Debug)]
pub struct Restoration {
    connection: Connection,
    config: RecordConfig,
    backup: String,
    is_begun: bool,
}

#[derive(Deserialize)]
struct Names {
    streams: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Answer {
    deliver_subject: Option<String>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    description: String,
}

impl Restoration {
    /// Looks at the server. The backup is told from others by its name.
    ///
    /// # Errors
    /// [`RestoreError::Occupied`], [`RestoreError::Another`], [`RestoreError::Record`] or [`RestoreError::Unavailable`].
    pub async fn of(backup: String, config: RecordConfig) -> Result<Self, RestoreError> {
        config.check()?;
        let connection = Connection::open(&config).await.map_err(RecordError::from)?;
        let deadline = Instant::now() + config.request_timeout();
        let subject = connection.api_subject("STREAM.NAMES");
        let names: Names = connection.api(subject, &json!({}), deadline).await?;
        let stream = names.streams.into_iter().flatten().next();
        let marker = topology::info(&connection, MARKER_STREAM, deadline).await?;
        let begun = marker.map(|marker| {
            let mut metadata = marker.config.metadata;
            metadata.remove(KEY_BACKUP).unwrap_or_default()
        });
        match (begun, stream) {
            (Some(begun), _) if begun != backup => Err(RestoreError::Another { backup: begun }),
            (None, Some(stream)) => Err(RestoreError::Occupied { stream }),
            (begun, _) => Ok(Self {
                connection,
                config,
                backup,
                is_begun: begun.is_some(),
            }),
        }
    }

    /// Whether an earlier restore of the backup was cut short here.
    #[must_use]
    pub fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Marks the server, before any stream is there: until [`Restoration::end`], the restore can be gone on with. The marker
    /// is kept on as many servers as a stream of the backup.
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
        if self.is_begun {
            return Ok(());
        }
        self.ask("CREATE", &marker).await
    }

    /// Takes the marker away: all that the restore had to do is done.
    ///
    /// # Errors
    /// [`RestoreError::Refused`] or [`RestoreError::Unavailable`].
    pub async fn end(&self) -> Result<(), RestoreError> {
        self.ask("DELETE", &json!({})).await
    }

    /// Asks something of the marker's stream.
    async fn ask(&self, what: &str, body: &Value) -> Result<(), RestoreError> {
        let connection = &self.connection;
        let subject = connection.api_subject(&format!("STREAM.{what}.{MARKER_STREAM}"));
        let answer: Answer = connection.api(subject, body, self.deadline()).await?;
        answer.error.map_or(Ok(()), |failure| {
            Err(RestoreError::Refused {
                stream: MARKER_STREAM.to_owned(),
                reason: failure.description,
            })
        })
    }

    /// Makes one stream again from the pieces of its archive, in order. One that is there is there whole: the server shows none
    /// before it has all of it.
    ///
    /// # Errors
    /// [`RestoreError`].
    pub async fn stream(
        &self,
        name: &str,
        description: &StreamDescription,
        mut archive: impl Stream<Item = std::io::Result<Bytes>> + Unpin,
    ) -> Result<(), RestoreError> {
        let connection = &self.connection;
        if self.is_begun && self.holds(name, description).await? {
            return Ok(());
        }
        let subject = connection.api_subject(&format!("STREAM.RESTORE.{name}"));
        let answer: Answer = connection
            .api(subject, description, self.deadline())
            .await?;
        let refused = |reason: String| RestoreError::Refused {
            stream: name.to_owned(),
            reason,
        };
        if let Some(failure) = answer.error {
            return Err(refused(failure.description));
        }
        let no_subject = || refused("it names no subject to send to".to_owned());
        let deliver = answer.deliver_subject.ok_or_else(no_subject)?;
        while let Some(chunk) = archive.next().await {
            let reply = self.send(&deliver, chunk.map_err(RestoreError::Archive)?);
            if let Some(reason) = failure_of(&reply.await?) {
                return Err(refused(reason));
            }
        }
        // An empty piece ends the archive; its answer comes once the stream is there.
        let reply = self.send(&deliver, Bytes::new()).await?;
        failure_of(&reply).map_or(Ok(()), |reason| Err(refused(reason)))
    }

    /// Whether an earlier try made the stream.
    async fn holds(
        &self,
        name: &str,
        description: &StreamDescription,
    ) -> Result<bool, RestoreError> {
        let info = topology::info(&self.connection, name, self.deadline()).await?;
        let Some(info) = info else {
            return Ok(false);
        };
        if info.state.last_seq >= description.last_sequence() {
            return Ok(true);
        }
        Err(RestoreError::Refused {
            stream: name.to_owned(),
            reason: "it is there, and ends before its archive does: empty the server".to_owned(),
        })
    }

    async fn send(&self, subject: &str, payload: Bytes) -> Result<Message, Unavailable> {
        let outgoing = Outgoing {
            subject: subject.to_owned(),
            headers: None,
            payload,
        };
        self.connection.request(outgoing, self.deadline()).await
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.config.request_timeout()
    }
}

/// What an answer complains of; most are empty.
fn failure_of(reply: &Message) -> Option<String> {
    let answer: Answer = serde_json::from_slice(&reply.payload).ok()?;
    answer.error.map(|failure| failure.description)
}
