//! The commits of a conversation after a sequence.

use domain::{ConversationKey, Sequence};

use crate::batch::{BATCH_MESSAGES_MAX, Batch, BatchRequest, From};
use crate::error::Unavailable;
use crate::get::NextOf;
use crate::last::stored;
use crate::message::StoredMessage;
use crate::record::Record;

/// Most commits that one call reads from the leader, which gives one commit for a request.
pub const LEADER_COMMITS_MAX: usize = 32;

/// Most of a tail that one call may return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TailBounds {
    /// Most commits; from 1 to 1,000, what is outside counts as the nearest.
    pub commits_max: usize,
    /// Most bytes of commits, the last one among them; at least one commit is returned whatever its size.
    pub bytes_max: usize,
}

impl Default for TailBounds {
    /// 500 commits or 4 MiB at a time.
    fn default() -> Self {
        Self {
            commits_max: 500,
            bytes_max: 4 * 1024 * 1024,
        }
    }
}

/// Commits of one conversation, in order, without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tail {
    /// The commits.
    pub commits: Vec<StoredMessage>,
    /// Where to read on; `None`: the conversation had no more.
    pub resume_after: Option<Sequence>,
}

impl Record {
    /// The commits of a conversation after a sequence, in order, up to the bounds, as any replica knows them.
    ///
    /// It may stop somewhat below the bounds; `resume_after` says whether there was more.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn tail(
        &self,
        key: &ConversationKey,
        after: Sequence,
        bounds: TailBounds,
    ) -> Result<Tail, Unavailable> {
        let partition = self.partition_of(key);
        let batch = self.batch_after(key, after, bounds).await?;
        let more = batch.pending > 0;
        Ok(Tail {
            resume_after: batch.last_sequence().filter(|_| more),
            commits: batch
                .messages
                .into_iter()
                .map(|message| stored(partition, message))
                .collect(),
        })
    }

    /// The same from the stream's leader, which holds every acknowledged commit; at most [`LEADER_COMMITS_MAX`] commits. For
    /// what a replica lacks: each commit costs a request.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn tail_from_leader(
        &self,
        key: &ConversationKey,
        after: Sequence,
        bounds: TailBounds,
    ) -> Result<Tail, Unavailable> {
        let (place, deadline) = (self.place(key), self.deadline());
        let commits_max = bounds.commits_max.clamp(1, LEADER_COMMITS_MAX);
        let (mut commits, mut last, mut bytes) = (Vec::new(), after, 0_usize);
        while commits.len() < commits_max && bytes < bounds.bytes_max.max(1) {
            let next = NextOf {
                seq: last.0.saturating_add(1),
                next_by_subj: &place.subject,
            };
            let connection = self.connection();
            let next = connection.get_from_leader(&place.stream, &next, deadline);
            let Some(message) = next.await? else {
                return Ok(Tail {
                    commits,
                    resume_after: None,
                });
            };
            last = message.sequence;
            bytes = bytes.saturating_add(message.payload.len());
            commits.push(stored(place.partition, message));
        }
        Ok(Tail {
            commits,
            resume_after: Some(last),
        })
    }

    /// The messages of a conversation after a sequence, up to the bounds.
    pub(crate) async fn batch_after(
        &self,
        key: &ConversationKey,
        after: Sequence,
        bounds: TailBounds,
    ) -> Result<Batch, Unavailable> {
        let place = self.place(key);
        let request = BatchRequest {
            from: From::Sequence(after.0.saturating_add(1)),
            subject: &place.subject,
            messages_max: bounds.commits_max.clamp(1, BATCH_MESSAGES_MAX),
            bytes_max: bounds.bytes_max.max(1),
        };
        let connection = self.connection();
        let batch = connection.batch(
            &place.stream,
            &request,
            request.messages_max,
            self.deadline(),
        );
        Ok(within(batch.await?, bounds.bytes_max))
    }
}

/// The server sends the message that passes the bound, too.
pub(crate) fn within(mut batch: Batch, bytes_max: usize) -> Batch {
    let mut bytes = 0_usize;
    let fitting = batch.messages.iter().take_while(|message| {
        bytes = bytes.saturating_add(message.payload.len());
        bytes <= bytes_max
    });
    let kept = fitting.count().max(1);
    let cut = batch.messages.len().saturating_sub(kept);
    batch.messages.truncate(kept);
    batch.pending = batch
        .pending
        .saturating_add(u64::try_from(cut).unwrap_or(u64::MAX));
    batch
}
