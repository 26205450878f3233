//! When messages of a partition were stored, and which came when.

use domain::{Partition, Sequence, Timestamp};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::batch::{BatchRequest, From};
use crate::error::Unavailable;
use crate::get::NextOf;
use crate::record::Record;
use crate::topology;

/// Every subject of a stream, which the server finds without a search.
const ANY_SUBJECT: &str = ">";

/// A message's place and the time when the stream stored it, by the server's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredAt {
    /// Its sequence.
    pub sequence: Sequence,
    /// When it was stored.
    pub stored_at: Timestamp,
}

impl Record {
    /// A partition's first message after a sequence, as its leader knows it; `None`: there is none.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn next_after(
        &self,
        partition: Partition,
        after: Sequence,
    ) -> Result<Option<StoredAt>, Unavailable> {
        let stream = topology::stream_name(partition);
        let next = NextOf {
            seq: after.0.saturating_add(1),
            next_by_subj: ANY_SUBJECT,
        };
        let connection = self.connection();
        let found = connection.get_from_leader(&stream, &next, self.deadline());
        Ok(found.await?.map(|message| StoredAt {
            sequence: message.sequence,
            stored_at: message.stored_at,
        }))
    }

    /// Whether a partition holds no message after a sequence up to a last one, as its leader says. The end of a stream is not
    /// what a consumer says: it counts what the replica has that it landed on, and that can be behind.
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
        Ok(is_past(next, last))
    }

    /// The sequence of a stream's first message after another, as its leader knows it; `None`: there is none.
    pub(crate) async fn next_on_leader(
        &self,
        stream: &str,
        after: Sequence,
    ) -> Result<Option<Sequence>, Unavailable> {
        let next = NextOf {
            seq: after.0.saturating_add(1),
            next_by_subj: ANY_SUBJECT,
        };
        let connection = self.connection();
        let found = connection.get_from_leader(stream, &next, self.deadline());
        Ok(found.await?.map(|message| message.sequence))
    }

    /// A partition's first message that was stored at a time or later, as any replica knows it; `None`: there is none.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn first_since(
        &self,
        partition: Partition,
        since: Timestamp,
    ) -> Result<Option<StoredAt>, Unavailable> {
        let stream = topology::stream_name(partition);
        let request = BatchRequest {
            from: From::Time(rfc3339(since)),
            subject: ANY_SUBJECT,
            messages_max: 1,
            bytes_max: 1,
        };
        let connection = self.connection();
        let batch = connection.batch(&stream, &request, request.messages_max, self.deadline());
        Ok(batch.await?.messages.first().map(|message| StoredAt {
            sequence: message.sequence,
            stored_at: message.stored_at,
        }))
    }
}

/// A time as the server reads it; those before 1970 count as its beginning, where no message can be.
fn rfc3339(time: Timestamp) -> String {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(time.0.max(0)))
        .ok()
        .and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_else(|| "1970-01-01T00:00:00Z".to_owned())
}

/// Whether the leader's next message is past the last one that is read, or there is none.
fn is_past(next: Option<Sequence>, last: Sequence) -> bool {
    next.is_none_or(|next| next > last)
}
