//! Looking for a commit by its id.

use std::time::Duration;

use domain::{CommitId, ConversationKey, Timestamp};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::batch::{BATCH_MESSAGES_MAX, BatchRequest, From};
use crate::error::Unavailable;
use crate::last::stored;
use crate::message::StoredMessage;
use crate::record::Record;

/// How far the server's clock, by which commits are found, may be from the one that gave the time.
const CLOCK_SKEW_MAX: Duration = Duration::from_mins(5);
/// Most bytes that are read at a time.
const BYTES_MAX: usize = 4 * 1024 * 1024;

impl Record {
    /// The commit with this id among those that a conversation got since a time, give or take five minutes of the
    /// clocks; `None`: there is none. Reads them all, in batches, until it is found.
    ///
    /// # Errors
    /// [`Unavailable`], also when there are more of them than can be read within the request timeout.
    pub async fn find_commit(
        &self,
        key: &ConversationKey,
        commit: CommitId,
        since: Timestamp,
    ) -> Result<Option<StoredMessage>, Unavailable> {
        let deadline = self.deadline();
        let place = self.place(key);
        let mut from = From::Time(start_time(since));
        loop {
            let request = BatchRequest {
                from,
                subject: &place.subject,
                messages_max: BATCH_MESSAGES_MAX,
                bytes_max: BYTES_MAX,
            };
            let batch =
                self.connection()
                    .batch(&place.stream, &request, request.messages_max, deadline);
            let batch = batch.await?;
            let (next, pending) = (batch.last_sequence(), batch.pending);
            let mut messages = batch.messages.into_iter();
            if let Some(found) = messages.find(|message| message.commit() == Some(commit)) {
                return Ok(Some(stored(place.partition, found)));
            }
            match next {
                Some(last) if pending > 0 => from = From::Sequence(last.0.saturating_add(1)),
                _ => return Ok(None),
            }
        }
    }
}

fn start_time(since: Timestamp) -> String {
    let skew = i64::try_from(CLOCK_SKEW_MAX.as_nanos()).unwrap_or(i64::MAX);
    // The server takes a time before its first message for the first message.
    let nanos = since.0.saturating_sub(skew).max(0);
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(nanos))
        .ok()
        .and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_else(|| "1970-01-01T00:00:00Z".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_leave_room_for_the_clocks() {
        for (since, expected) in [
            (Timestamp(0), "1970-01-01T00:00:00Z"),
            (Timestamp(i64::MIN), "1970-01-01T00:00:00Z"),
            (Timestamp(300_000_000_001), "1970-01-01T00:00:00.000000001Z"),
            (Timestamp(1_790_000_300_000_000_000), "2026-09-21T14:13:20Z"),
        ] {
            assert_eq!(start_time(since), expected);
        }
    }
}
