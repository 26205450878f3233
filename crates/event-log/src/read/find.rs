//! Finds a commit by its id.

use std::ops::Range;
use std::time::Duration;

use domain::{CommitId, ConversationKey, Sequence, Timestamp};
use tokio::time::Instant;

use crate::append::Route;
use crate::connection::get::{NextOfSubject, to_rfc3339};
use crate::error::Unavailable;
use crate::group_commit::batch::{BATCH_MESSAGES_MAX, BatchRequest, From};
use crate::message::StoredMessage;
use crate::record::Record;

/// Maximum difference between the server's clock, which the search uses, and the caller's clock.
pub const CLOCK_SKEW_MAX: Duration = Duration::from_mins(5);
/// Maximum bytes of one batch.
const BYTES_MAX: usize = 4 * 1024 * 1024;

impl Record {
    /// The conversation's commit with this id that was stored at `since` or later, with a tolerance of five minutes for clock
    /// differences. Reads batches until it finds the commit. If the replica that answers lacks the commit at `through`, the leader
    /// returns the rest up to it.
    ///
    /// # Errors
    /// [`Unavailable`], also when the commits cannot all be read within the request timeout.
    pub async fn find_commit(
        &self,
        key: &ConversationKey,
        commit: CommitId,
        since: Timestamp,
        through: Sequence,
    ) -> Result<Option<StoredMessage>, Unavailable> {
        let deadline = self.deadline();
        let route = self.route(key).await?;
        let mut from = From::Time(start_time(since));
        let last = loop {
            let request =
                BatchRequest { from, subject: &route.subject, messages_max: BATCH_MESSAGES_MAX, bytes_max: BYTES_MAX };
            let connection = self.connection();
            let batch = connection.batch(&route.stream, &request, BATCH_MESSAGES_MAX, deadline).await?;
            let (resume_after, last) = (batch.resume_after(), batch.last_sequence());
            let mut messages = batch.messages.into_iter();
            if let Some(found) = messages.find(|message| message.commit() == Some(commit)) {
                return Ok(Some(StoredMessage::of(route.partition, found)));
            }
            match resume_after {
                Some(last) => from = From::after(last),
                None => break last,
            }
        };
        match last {
            last if last.unwrap_or_default() >= through => Ok(None),
            Some(last) => self.find_at_leader(&route, commit, last..through, deadline).await,
            None => Err(Unavailable::new("a replica lacks the latest commits")),
        }
    }

    /// Searches the commits after the first sequence, up to the second, at the leader: one request for each.
    async fn find_at_leader(
        &self,
        route: &Route,
        commit: CommitId,
        range: Range<Sequence>,
        deadline: Instant,
    ) -> Result<Option<StoredMessage>, Unavailable> {
        let mut last = range.start;
        while last < range.end {
            let next = NextOfSubject::after(&route.subject, last);
            let connection = self.connection();
            let next = connection.get_from_leader(&route.stream, &next, deadline);
            let Some(message) = next.await? else {
                return Ok(None);
            };
            if message.commit() == Some(commit) {
                return Ok(Some(StoredMessage::of(route.partition, message)));
            }
            last = message.sequence;
        }
        Ok(None)
    }
}

fn start_time(since: Timestamp) -> String {
    // For a time before the first message the server starts at the first message.
    to_rfc3339(since.before(CLOCK_SKEW_MAX))
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
