//! Finds messages of a partition by sequence and by time.

use domain::{Partition, Sequence, Timestamp};

use crate::connection::get::{NextOfSubject, RawMessage, to_rfc3339};
use crate::error::Unavailable;
use crate::group_commit::batch::{BatchRequest, From};
use crate::record::Record;
use crate::topology;

/// Matches every subject of a stream; the server needs no search for it.
const ANY_SUBJECT: &str = ">";

/// A message's sequence and the time when the stream stored it, by the server's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedSequence {
    /// The sequence.
    pub sequence: Sequence,
    /// The storage time.
    pub stored_at: Timestamp,
}

impl Record {
    /// A partition's first message after a sequence, from its leader; `None`: no message follows.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn next_after(
        &self,
        partition: Partition,
        after: Sequence,
    ) -> Result<Option<TimedSequence>, Unavailable> {
        let stream = topology::stream_name(partition);
        let found = self.next_from_leader(&stream, after).await?;
        Ok(found.as_ref().map(stored_at))
    }

    /// Whether a partition has no message between `after` and `last`, read from its leader. A consumer cannot answer that: its
    /// pending count is that of its replica, which can lag.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn is_exhausted(
        &self,
        partition: Partition,
        after: Sequence,
        last: Sequence,
    ) -> Result<bool, Unavailable> {
        if after >= last {
            return Ok(true);
        }
        let stream = topology::stream_name(partition);
        let next = self.next_on_leader(&stream, after).await?;
        Ok(next.is_none_or(|next| next > last))
    }

    /// The sequence of a stream's first message after another, from its leader; `None`: no message follows.
    pub(crate) async fn next_on_leader(&self, stream: &str, after: Sequence) -> Result<Option<Sequence>, Unavailable> {
        let found = self.next_from_leader(stream, after).await?;
        Ok(found.map(|message| message.sequence))
    }

    /// A stream's first message after another, from its leader; `None`: no message follows.
    pub(crate) async fn next_from_leader(
        &self,
        stream: &str,
        after: Sequence,
    ) -> Result<Option<RawMessage>, Unavailable> {
        let next = NextOfSubject::after(ANY_SUBJECT, after);
        self.get_from_leader(stream, &next).await
    }

    /// A partition's first message stored at or after a time, from any replica; `None`: no such message.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn first_since(
        &self,
        partition: Partition,
        since: Timestamp,
    ) -> Result<Option<TimedSequence>, Unavailable> {
        let stream = topology::stream_name(partition);
        let request =
            BatchRequest { from: From::Time(to_rfc3339(since)), subject: ANY_SUBJECT, messages_max: 1, bytes_max: 1 };
        let connection = self.connection();
        let batch = connection.batch(&stream, &request, request.messages_max, self.deadline());
        Ok(batch.await?.messages.first().map(stored_at))
    }
}

fn stored_at(message: &RawMessage) -> TimedSequence {
    TimedSequence { sequence: message.sequence, stored_at: message.stored_at }
}
