//! Streams made again from their archives, on a server that has none.

use async_nats::Message;
use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use serde::Deserialize;
use serde_json::json;
use thiserror::Error;
use tokio::time::Instant;

use crate::config::RecordConfig;
use crate::connection::{Connection, Outgoing};
use crate::error::{RecordError, Unavailable};
use crate::snapshot::StreamDescription;

/// Why a record cannot be restored.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// The server has a stream: a record is only restored where there is nothing.
    #[error("the server has a stream already ({stream}): restore on an empty one")]
    Occupied {
        /// One of its streams.
        stream: String,
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
    /// The server does not answer. What was restored so far stands: empty the server before the next try.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// A server that had no streams when this was made.
#[derive(Debug)]
pub struct Restoration {
    connection: Connection,
    config: RecordConfig,
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
    /// Looks at the server.
    ///
    /// # Errors
    /// [`RestoreError::Occupied`], [`RestoreError::Record`] or [`RestoreError::Unavailable`].
    pub async fn on_empty_server(config: RecordConfig) -> Result<Self, RestoreError> {
        config.check()?;
        let connection = Connection::open(&config).await.map_err(RecordError::from)?;
        let deadline = Instant::now() + config.request_timeout();
        let subject = connection.api_subject("STREAM.NAMES");
        let names: Names = connection.api(subject, &json!({}), deadline).await?;
        match names.streams.into_iter().flatten().next() {
            Some(stream) => Err(RestoreError::Occupied { stream }),
            None => Ok(Self { connection, config }),
        }
    }

    /// Makes one stream again from the pieces of its archive, in order.
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
