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

/// Most removed sequences of a partition that its leader is asked to list: some 20 MB of its answer.
pub const HOLES_MAX: u64 = 2_000_000;
/// Deletions that are under way at a time.
const DELETES_IN_FLIGHT: usize = 64;

/// Why a partition was not erased again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EraseAgainError {
    /// The record does not answer: call again.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// Too much was removed to be listed. Let a server that may have kept some of it copy the stream from the others.
    #[error(
        "partition {partition} has {holes} removed sequences, and at most {HOLES_MAX} can be listed: \
         have the server that was restarted copy its stream anew from the others"
    )]
    TooMany {
        /// Which.
        partition: Partition,
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

impl Record {
    /// Deletes once more, on every replica of a partition, what its leader holds no message at; `told` hears how many are
    /// done. With one replica there is nothing to do. Safe at any time, and done twice it is done.
    ///
    /// # Errors
    /// [`EraseAgainError`].
    pub async fn erase_again(
        &self,
        partition: Partition,
        mut told: impl FnMut(u64),
    ) -> Result<u64, EraseAgainError> {
        let standing = self.standing_of(partition).await?;
        if standing.replicas < 2 {
            return Ok(0);
        }
        let holes = standing.removed();
        if holes > HOLES_MAX {
            return Err(EraseAgainError::TooMany { partition, holes });
        }
        let stream = topology::stream_name(partition);
        let removed = self.removed(&stream).await?;
        let deletes = stream::iter(removed)
            .map(|sequence| self.erase_message(&stream, Sequence(sequence)))
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
    async fn removed(&self, stream: &str) -> Result<Vec<u64>, Unavailable> {
        let connection = self.connection();
        let subject = connection.api_subject(&format!("STREAM.INFO.{stream}"));
        let query = json!({"deleted_details": true});
        let answer: Answer = connection.api(subject, &query, self.deadline()).await?;
        let unseen = Unavailable::new("a stream cannot be looked at");
        let state = answer.state.ok_or(unseen)?;
        let removed = (1..state.first_seq).chain(state.deleted);
        Ok(removed.collect())
    }
}
