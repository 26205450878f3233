//! The time of the record's servers.
//!
//! The servers keep the duplicate window by their clocks, so the age of an idempotency key is judged by them too. The clock of this
//! process, which may be wrong and may jump, decides nothing: its monotonic clock counts the time since a server's answer.

use std::time::Duration;

use domain::{ConversationKey, Partition, Timestamp};
use tokio::time::Instant;

use crate::connection::known_time::{Answer, ServerTime};
use crate::error::Unavailable;
use crate::record::Record;
use crate::topology;

/// Maximum difference between the clocks of two servers of the record.
pub const SERVER_SKEW_MAX: Duration = Duration::from_secs(30);

impl Record {
    /// The time of the servers. They are asked if the last answer is older than ten seconds; [`Record::check`] asks them too. The
    /// leader of the conversation's partition answers: without it, nothing can be appended either.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn server_time(&self, key: &ConversationKey) -> Result<ServerTime, Unavailable> {
        if let Some(time) = self.known_time().recent(Instant::now()) {
            return Ok(time);
        }
        // Boxed, because it is rare and its future is large.
        Box::pin(async {
            let partition = self.known_partition(key).unwrap_or_else(|| self.layout().creation(key).partition);
            self.ask_time(partition, self.deadline()).await.map(|answer| answer.time_at(Instant::now()))
        })
        .await
    }

    /// Corrects times of the wall clock of this process, in nanoseconds since the epoch: a time stays within the bounds of the servers' time
    /// by their last answer, however old. [`Record::check`] asks them, and so did the opening of the record.
    pub fn clock_correction(&self) -> impl Fn(i64) -> i64 + Send + Sync + use<> {
        let record = self.clone();
        move |nanos| record.known_time().at(Instant::now()).bound(Timestamp(nanos)).0
    }

    /// Asks the leader of a partition for its time, which is remembered.
    pub(crate) async fn ask_time(&self, partition: Partition, deadline: Instant) -> Result<Answer, Unavailable> {
        let asked_at = Instant::now();
        let info = topology::info(self.connection(), &topology::stream_name(partition), deadline).await?;
        let info = info.ok_or(Unavailable::new("a stream of the record does not exist"))?;
        let answer = info.time(asked_at)?;
        self.known_time().keep(answer);
        Ok(answer)
    }
}
