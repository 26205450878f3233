//! Repeats erasures on every replica.
//!
//! A server that restarts during deletions can keep deleted messages for good: nats-server 2.15.1 does so about once in
//! eight series of restarts of a busy cluster, and later restarts do not repair it. The leader may not have these messages.
//! A deletion reaches every replica even if the leader has no such message, so a second deletion repairs the replica.

use domain::{Partition, Sequence};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::Deserialize;
use serde_json::json;
use thiserror::Error;

use crate::connection::ApiFailure;
use crate::connection::reads::ApiAnswer;
use crate::error::Unavailable;
use crate::record::Record;
use crate::topology;

/// Maximum number of removed sequences that a stream's leader lists: a reply of about 20 MB.
pub const HOLES_MAX: u64 = 2_000_000;
/// Concurrent deletions.
const DELETES_IN_FLIGHT: usize = 64;

/// Errors of [`Record::erase_again`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EraseAgainError {
    /// The record does not answer; retry.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The stream has too many removed sequences to list. Restore the restarted server's copy from the other replicas.
    #[error(
        "stream {stream} has {holes} removed sequences, at most {HOLES_MAX} can be listed: \
        let the restarted server copy the stream again from the other replicas"
    )]
    TooMany {
        /// The stream.
        stream: String,
        /// The number of removed sequences.
        holes: u64,
    },
}

#[derive(Deserialize)]
struct Answer {
    state: Option<State>,
    error: Option<ApiFailure>,
}

impl ApiAnswer for Answer {
    fn failure(&self) -> Option<&ApiFailure> {
        self.error.as_ref()
    }
}

#[derive(Deserialize)]
struct State {
    first_seq: u64,
    #[serde(default)]
    deleted: Vec<u64>,
}

/// A stream that contains erasable messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasedStream {
    /// Its name.
    pub name: String,
    /// Whether messages expire by age; each replica expires them independently.
    expires: bool,
}

impl Record {
    /// The streams with erasable messages: partitions, registry, run parts and logged calls.
    #[must_use]
    pub fn erased_streams(&self) -> Vec<ErasedStream> {
        let partitions = || (0..self.partitions()).map(Partition);
        let permanent = partitions().map(topology::stream_name).chain([topology::REGISTRY_STREAM.to_owned()]);
        let expiring = partitions().map(topology::parts_stream_name).chain([topology::logs::STREAM.to_owned()]);
        let stream = |expires| move |name| ErasedStream { name, expires };
        permanent.map(stream(false)).chain(expiring.map(stream(true))).collect()
    }

    /// How many sequences [`Record::erase_again`] would delete in a stream. 0 with one replica or without the stream. In an expiring
    /// stream, sequences before the first are not counted.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn count_removed(&self, stream: &ErasedStream) -> Result<u64, Unavailable> {
        let info = topology::info(self.connection(), &stream.name, self.deadline()).await?;
        let Some(info) = info.filter(|info| info.config.num_replicas > 1) else {
            return Ok(0);
        };
        let bounds = info.state.bounds();
        let first = if stream.expires { bounds.first.0 } else { 1 };
        let span = bounds.last.0.saturating_add(1).saturating_sub(first);
        Ok(span.saturating_sub(info.state.messages))
    }

    /// Deletes all removed sequences of a stream again, on every replica. `on_progress` gets the number of finished deletions.
    /// Does nothing with one replica. Safe at any time and idempotent.
    ///
    /// # Errors
    /// [`EraseAgainError`].
    pub async fn erase_again(
        &self,
        stream: &ErasedStream,
        mut on_progress: impl FnMut(u64),
    ) -> Result<u64, EraseAgainError> {
        let holes = self.count_removed(stream).await?;
        if holes == 0 {
            return Ok(0);
        }
        let name = &stream.name;
        if holes > HOLES_MAX {
            let stream = name.clone();
            return Err(EraseAgainError::TooMany { stream, holes });
        }
        let deletes = stream::iter(self.removed(stream).await?)
            .map(|sequence| self.erase_message(name, Sequence(sequence)))
            .buffer_unordered(DELETES_IN_FLIGHT);
        let mut done = 0;
        let mut deletes = std::pin::pin!(deletes);
        while deletes.try_next().await?.is_some() {
            done += 1;
            on_progress(done);
        }
        Ok(done)
    }

    /// The sequences without a message on the stream's leader.
    async fn removed(&self, stream: &ErasedStream) -> Result<Vec<u64>, Unavailable> {
        let request = format!("STREAM.INFO.{}", stream.name);
        let query = json!({"deleted_details": true});
        let answer: Answer = self.connection().api_read(&request, &query, self.deadline()).await?;
        let no_state = Unavailable::new("the state of a stream cannot be read");
        let state = answer.state.ok_or(no_state)?;
        let before_first = if stream.expires { 1 } else { state.first_seq };
        let removed = (1..before_first).chain(state.deleted);
        Ok(removed.collect())
    }
}
