//! Erasing again what is erased, on every server.
//!
//! A server that restarts while others delete can keep, for good, messages that they removed: nats-server 2.15.1 does so
//! about once in eight bouts of restarts of a busy cluster, and no later restart mends it. Its leader may know of none of
//! them. A deletion goes to every replica whether the leader has the message or not, so deleting once more mends it.

use domain::{Partition, Sequence};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::Deserialize;
use serde_json::json;
use thiserror::Error;

use crate::error::Unavailable;
use crate::record::Record;
use crate::topology;

/// Most removed sequences of a stream that its leader is asked to list: some 20 MB of its answer.
pub const HOLES_MAX: u64 = 2_000_000;
/// Deletions that are under way at a time.
const DELETES_IN_FLIGHT: usize = 64;

/// Why a stream was not erased again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EraseAgainError {
    /// The record does not answer: call again.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// Too much was removed to be listed. Let a server that may have kept some of it copy the stream from the others.
    #[error(
        "stream {stream} has {holes} removed sequences, and at most {HOLES_MAX} can be listed: \
         have the server that was restarted copy its stream anew from the others"
    )]
    TooMany {
        /// Which.
        stream: String,
        /// How many.
        holes: u64,
    },
}

#[derive(Deserialize)]
struct Answer {
    state: Option<State>,
}

#[derive(Deserialize)]
struct State {
    first_seq: u64,
    #[serde(default)]
    deleted: Vec<u64>,
}

/// A stream that erasures take messages out of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasedStream {
    /// Its name.
    pub name: String,
    /// Whether each server lets go of its oldest messages by itself, by their age, whatever the others do.
    expires: bool,
}

impl Record {
    /// The streams that erasures take messages out of: the partitions, the registry, the parts of runs, and logged calls.
    #[must_use]
    pub fn erased_streams(&self) -> Vec<ErasedStream> {
        let partitions = || (0..self.partitions()).map(Partition);
        let kept = partitions().map(topology::stream_name);
        let kept = kept.chain([topology::REGISTRY_STREAM.to_owned()]);
        let passing = partitions().map(topology::parts_stream_name);
        let passing = passing.chain([topology::logs::STREAM.to_owned()]);
        let stream = |expires| move |name| ErasedStream { name, expires };
        kept.map(stream(false))
            .chain(passing.map(stream(true)))
            .collect()
    }

    /// How many sequences of a stream [`Record::erase_again`] would delete once more. None with one replica, nor where the
    /// stream is not there; and where messages expire, none of those before the first.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn removed_of(&self, stream: &ErasedStream) -> Result<u64, Unavailable> {
        let info = topology::info(self.connection(), &stream.name, self.deadline()).await?;
        let Some(info) = info.filter(|info| info.config.num_replicas > 1) else {
            return Ok(0);
        };
        let bounds = info.state.bounds();
        let first = if stream.expires { bounds.first.0 } else { 1 };
        let span = bounds.last.0.saturating_add(1).saturating_sub(first);
        Ok(span.saturating_sub(info.state.messages))
    }

    /// Deletes once more, on every replica of a stream, what its leader holds no message at; `told` hears how many are
    /// done. With one replica there is nothing to do. Safe at any time, and done twice it is done.
    ///
    /// # Errors
    /// [`EraseAgainError`].
    pub async fn erase_again(
        &self,
        stream: &ErasedStream,
        mut told: impl FnMut(u64),
    ) -> Result<u64, EraseAgainError> {
        let holes = self.removed_of(stream).await?;
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
            told(done);
        }
        Ok(done)
    }

    /// The sequences that a stream's leader holds nothing at.
    async fn removed(&self, stream: &ErasedStream) -> Result<Vec<u64>, Unavailable> {
        let connection = self.connection();
        let subject = connection.api_subject(&format!("STREAM.INFO.{}", stream.name));
        let query = json!({"deleted_details": true});
        let answer: Answer = connection.api(subject, &query, self.deadline()).await?;
        let unseen = Unavailable::new("a stream cannot be looked at");
        let state = answer.state.ok_or(unseen)?;
        let before_first = if stream.expires { 1 } else { state.first_seq };
        let removed = (1..before_first).chain(state.deleted);
        Ok(removed.collect())
    }
}
