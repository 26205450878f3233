//! Reads the commits of a conversation after a sequence.

use domain::{ConversationKey, Sequence};

use crate::append::Route;
use crate::connection::get::NextOfSubject;
use crate::error::Unavailable;
use crate::group_commit::batch::{BATCH_MESSAGES_MAX, Batch, BatchRequest, From};
use crate::message::StoredMessage;
use crate::record::Record;

/// Maximum commits of one read from the leader, which returns one commit per request.
pub const LEADER_COMMITS_MAX: usize = 32;

/// Limits of one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TailBounds {
    /// Maximum commits, clamped to 1 to 1,000.
    pub commits_max: usize,
    /// Maximum bytes of all commits; at least one commit of any size is returned.
    pub bytes_max: usize,
}

impl Default for TailBounds {
    /// 500 commits or 4 MiB.
    fn default() -> Self {
        Self { commits_max: 500, bytes_max: 4 * 1024 * 1024 }
    }
}

/// Commits of one conversation, in order, without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tail {
    /// The commits.
    pub commits: Vec<StoredMessage>,
    /// The sequence to continue after; `None`: the conversation had no more commits.
    pub resume_after: Option<Sequence>,
}

impl Record {
    /// The commits of a conversation after a sequence, in order, within the bounds, from any replica.
    ///
    /// It may return less than the bounds allow; `resume_after` is set if commits follow.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn tail(&self, key: &ConversationKey, after: Sequence, bounds: TailBounds) -> Result<Tail, Unavailable> {
        let route = self.route(key).await?;
        let batch = self.read_batch(&route, after, bounds).await?;
        let (commits, resume_after) = batch.into_page(|message| StoredMessage::of(route.partition, message));
        Ok(Tail { commits, resume_after })
    }

    /// Same as [`Record::tail`] from the stream's leader, which has every acknowledged commit; at most [`LEADER_COMMITS_MAX`]
    /// commits. Use it only for commits that a replica lacks: each commit costs a request.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn tail_from_leader(
        &self,
        key: &ConversationKey,
        after: Sequence,
        bounds: TailBounds,
    ) -> Result<Tail, Unavailable> {
        let (route, deadline) = (self.route(key).await?, self.deadline());
        let commits_max = bounds.commits_max.clamp(1, LEADER_COMMITS_MAX);
        let (mut commits, mut last, mut bytes) = (Vec::new(), after, 0_usize);
        while commits.len() < commits_max && bytes < bounds.bytes_max.max(1) {
            let next = NextOfSubject::after(&route.subject, last);
            let connection = self.connection();
            let next = connection.get_from_leader(&route.stream, &next, deadline);
            let Some(message) = next.await? else {
                return Ok(Tail { commits, resume_after: None });
            };
            last = message.sequence;
            bytes = bytes.saturating_add(message.payload.len());
            commits.push(StoredMessage::of(route.partition, message));
        }
        Ok(Tail { commits, resume_after: Some(last) })
    }

    /// The messages of a route after a sequence, within the bounds.
    pub(crate) async fn read_batch(
        &self,
        route: &Route,
        after: Sequence,
        bounds: TailBounds,
    ) -> Result<Batch, Unavailable> {
        let request = BatchRequest {
            from: From::Sequence(after.0.saturating_add(1)),
            subject: &route.subject,
            messages_max: bounds.commits_max.clamp(1, BATCH_MESSAGES_MAX),
            bytes_max: bounds.bytes_max.max(1),
        };
        let (connection, messages_max) = (self.connection(), request.messages_max);
        let batch = connection.batch(&route.stream, &request, messages_max, self.deadline());
        Ok(truncate(batch.await?, bounds.bytes_max))
    }
}

/// Drops the messages past the bound: the server also sends the message that exceeds it.
fn truncate(mut batch: Batch, bytes_max: usize) -> Batch {
    let mut bytes = 0_usize;
    let within_bound = batch.messages.iter().take_while(|message| {
        bytes = bytes.saturating_add(message.payload.len());
        bytes <= bytes_max
    });
    let kept = within_bound.count().max(1);
    let cut = batch.messages.len().saturating_sub(kept);
    batch.messages.truncate(kept);
    batch.pending = batch.pending.saturating_add(u64::try_from(cut).unwrap_or(u64::MAX));
    batch
}
