//! A conversation's commits with what an archive keeps beside them, and their end in the record.

use domain::{ConversationKey, Sequence, Timestamp};

use crate::error::Unavailable;
use crate::get::NextOf;
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

    /// Overwrites and removes the commits of a conversation at these sequences, which are sealed in an archive, and no
    /// others; how many the record still held. Done twice, it is done. They are overwritten, since what is left of them in
    /// the store could not be erased any more.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; what is gone stays gone.
    pub async fn trim(
        &self,
        key: &ConversationKey,
        sequences: &[Sequence],
    ) -> Result<u64, Unavailable> {
        self.erase_exactly(key, sequences).await
    }

    /// The sequence of a conversation's first commit in the record, as the stream's leader knows it; `None`: it has none.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn first_of(&self, key: &ConversationKey) -> Result<Option<Sequence>, Unavailable> {
        let place = self.place(key);
        let first = NextOf {
            seq: 1,
            next_by_subj: &place.subject,
        };
        let connection = self.connection();
        let first = connection.get_from_leader(&place.stream, &first, self.deadline());
        Ok(first.await?.map(|first| first.sequence))
    }
}
