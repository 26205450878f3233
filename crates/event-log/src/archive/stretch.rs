//! A conversation's commits with what an archive keeps beside them, and their end in the record.

use domain::{ConversationKey, Sequence, Timestamp};

use crate::error::Unavailable;
use crate::last::stored;
use crate::message::StoredMessage;
use crate::record::Record;
use crate::tail::TailBounds;

/// A commit, and when the stream stored it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedMessage {
    /// The commit.
    pub message: StoredMessage,
    /// When it was stored, by the server's clock.
    pub stored_at: Timestamp,
}

/// Commits of one conversation, in order, without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedTail {
    /// The commits.
    pub commits: Vec<TimedMessage>,
    /// Where to read on; `None`: the conversation had no more.
    pub resume_after: Option<Sequence>,
}

impl Record {
    /// As [`Record::tail`], with the times.
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
        let more = batch.pending > 0;
        Ok(TimedTail {
            resume_after: batch.last_sequence().filter(|_| more),
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

    /// Overwrites and removes a conversation's commits before a sequence, which is the first that stays; how many there
    /// were. Done twice, it is done. An archive's own: they are sealed elsewhere by then. They are overwritten, since what
    /// is left of them in the store could not be erased any more.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; what is gone stays gone.
    pub async fn trim_before(
        &self,
        key: &ConversationKey,
        before: Sequence,
    ) -> Result<u64, Unavailable> {
        self.erase_before(key, before).await
    }
}
