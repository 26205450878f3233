//! Finds a commit by its id.

use std::time::Duration;

use domain::{CommitId, ConversationKey, Timestamp};

use crate::batch::{BATCH_MESSAGES_MAX, BatchRequest, From};
use crate::get::to_rfc3339;
use crate::last::stored;
use crate::{Record, StoredMessage, Unavailable};

/// Maximum difference between the server's clock, which the search uses, and the caller's clock.
const CLOCK_SKEW_MAX: Duration = Duration::from_mins(5);
/// Maximum bytes of one batch.
const BYTES_MAX: usize = 4 * 1024 * 1024;

impl Record {
    /// The conversation's commit with this id that was stored at `since` or later, with a tolerance of five minutes for clock
    /// differences. Reads batches until it finds the commit.
    ///
    /// # Errors
    /// [`Unavailable`], also when the commits cannot all be read within the request timeout.
    pub async fn find_commit(
        &self,
        key: &ConversationKey,
        commit: CommitId,
        since: Timestamp,
    ) -> Result<Option<StoredMessage>, Unavailable> {
        let deadline = self.deadline();
        let route = self.route(key).await?;
        let mut from = From::Time(start_time(since));
        loop {
            let request = BatchRequest {
                from,
                subject: &route.subject,
                messages_max: BATCH_MESSAGES_MAX,
                bytes_max: BYTES_MAX,
            };
            let connection = self.connection();
            let batch = connection.batch(&route.stream, &request, BATCH_MESSAGES_MAX, deadline);
            let batch = batch.await?;
            let resume_after = batch.resume_after();
            let mut messages = batch.messages.into_iter();
            if let Some(found) = messages.find(|message| message.commit() == Some(commit)) {
                return Ok(Some(stored(route.partition, found)));
            }
            match resume_after {
                Some(last) => from = From::after(last),
                None => return Ok(None),
            }
        }
    }
}

fn start_time(since: Timestamp) -> String {
    let skew = i64::try_from(CLOCK_SKEW_MAX.as_nanos()).unwrap_or(i64::MAX);
    // For a time before the first message the server starts at the first message.
    to_rfc3339(Timestamp(since.0.saturating_sub(skew)))
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
