//! Commits of one conversation with their storage times, and trimming of archived commits.

use domain::{ConversationKey, Sequence, Timestamp};

use crate::connection::get::NextOfSubject;
use crate::erase::Removal;
use crate::error::Unavailable;
use crate::message::StoredMessage;
use crate::read::tail::TailBounds;
use crate::record::Record;

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
        let route = self.route(key).await?;
        let batch = self.read_batch(&route, after, bounds).await?;
        let (commits, resume_after) = batch.into_page(|message| TimedMessage {
            stored_at: message.stored_at,
            message: StoredMessage::of(route.partition, message),
        });
        Ok(TimedTail { commits, resume_after })
    }

    /// Removes the commits of a conversation at these sequences, which are sealed in an archive, and no others. Returns how
    /// many the record still had. Idempotent. A later erasure does not find bytes that [`Removal::Delete`] leaves.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; removed commits stay removed.
    pub async fn trim(
        &self,
        key: &ConversationKey,
        sequences: &[Sequence],
        removal: Removal,
    ) -> Result<u64, Unavailable> {
        let stream = self.route(key).await?.stream;
        let sequences = sequences.iter().copied();
        let erased = self.remove_messages(&stream, sequences, removal).await?;
        let held = erased.into_iter().filter(|was_held| *was_held).count();
        Ok(u64::try_from(held).unwrap_or(u64::MAX))
    }

    /// The sequence of a conversation's first commit in the record, read from the stream's leader; `None`: no commit.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn first_sequence(&self, key: &ConversationKey) -> Result<Option<Sequence>, Unavailable> {
        let route = self.route(key).await?;
        let query = NextOfSubject::after(&route.subject, Sequence(0));
        let first = self.get_from_leader(&route.stream, &query).await?;
        Ok(first.map(|first| first.sequence))
    }
}
