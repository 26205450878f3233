//! The time of the record's servers.
//!
//! The servers keep the duplicate window by their clocks, so the age of an idempotency key is judged by them too. The clock of this
//! process, which may be wrong and may jump, is not read: only its monotonic clock, for the time since a server's answer.

use std::time::Duration;

use domain::{ConversationKey, Partition, Timestamp};
use tokio::time::Instant;

use crate::get::parse_timestamp;
use crate::known_time::{Answer, ServerTime};
use crate::topology::{self, StreamInfo};
use crate::{Record, Unavailable};

/// Maximum difference between the clocks of two servers of the record.
pub const SERVER_SKEW_MAX: Duration = Duration::from_secs(30);

impl Record {
    /// The time of the servers. They are asked if the last answer is older than ten seconds; [`Record::check`] asks them too. The
    /// leader of the conversation's partition answers: without it, nothing can be appended either.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn server_time(&self, key: &ConversationKey) -> Result<ServerTime, Unavailable> {
        if let Some(time) = self.known_time().get(Instant::now()) {
            return Ok(time);
        }
        // Boxed, because it is rare and its future is large.
        Box::pin(async {
            let partition = self.known_partition(key).unwrap_or_else(|| self.layout().creation(key).partition);
            self.ask_time(partition, self.deadline()).await.map(|answer| answer.time_at(Instant::now()))
        })
        .await
    }

    /// Asks the leader of a partition for its time, which is remembered.
    pub(crate) async fn ask_time(&self, partition: Partition, deadline: Instant) -> Result<Answer, Unavailable> {
        let asked_at = Instant::now();
        let info = topology::info(self.connection(), &topology::stream_name(partition), deadline).await?;
        let info = info.ok_or(Unavailable::new("a stream of the record does not exist"))?;
        let time = time_of(&info).ok_or(Unavailable::new("the answer of a server has no time"))?;
        let answer = Answer { time, asked_at, answered_at: Instant::now() };
        self.known_time().keep(answer);
        Ok(answer)
    }
}

fn time_of(info: &StreamInfo) -> Option<Timestamp> {
    parse_timestamp(info.ts.as_deref()?)
}
