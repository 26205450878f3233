//! Commits of one conversation with their storage times, and trimming of archived commits.

use domain::{ConversationKey, Sequence, Timestamp};

use crate::error::Unavailable;
use crate::get::NextOfSubject;
use crate::last::stored;
use crate::message::StoredMessage;
use crate::record::Record;
use crate::tail::TailBounds;

/// A commit and the time when the stream stored it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedMessage {
    /// The commit.
    pub message: StoredMessage,
    /// The storage time by the server's clock.
    pub stored_at: Timestamp,
}

/// Commits of one conversation, in order, without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedTail {
    /// The commits.
    pub commits: Vec<TimedMessage>,
    /// The sequence to continue after; `None`: the conversation has no more commits.
    pub resume_after: Option<Sequence>,
}

impl Record {
    /// Same as [`Record::tail`], with storage times.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn timed_tail(
        &self,
        key: &ConversationKey,
        after: Sequence,
        bounds: TailBounds,
    ) -> Result<TimedTail, Unavailable> {
        let partition = self.partition_of(key);
        let batch = self.batch_after(key, after, bounds).await?;
        let has_more = batch.pending > 0;
        Ok(TimedTail {
            resume_after: batch.last_sequence().filter(|_| has_more),
            commits: batch
                .messages
                .into_iter()
                .map(|message| TimedMessage {
                    stored_at: message.stored_at,
                    message: stored(partition, message),
                })
                .collect(),
        })
    }

    /// Overwrites and removes the commits of a conversation at these sequences, which are sealed in an archive, and no others.
    /// Returns how many the record still had. Idempotent. The bytes are overwritten because a later erasure would no longer
    /// find them.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; removed commits stay removed.
    pub async fn trim(
        &self,
        key: &ConversationKey,
        sequences: &[Sequence],
    ) -> Result<u64, Unavailable> {
        self.erase_exactly(key, sequences).await
    }

    /// The sequence of a conversation's first commit in the record, read from the stream's leader; `None`: no commit.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn first_sequence(
        &self,
        key: &ConversationKey,
    ) -> Result<Option<Sequence>, Unavailable> {
        let route = self.route(key);
        let first = NextOfSubject {
            seq: 1,
            next_by_subj: &route.subject,
        };
        let first = self.get_from_leader(&route.stream, &first).await?;
        Ok(first.map(|first| first.sequence))
    }
}
