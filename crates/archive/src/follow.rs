//! Follows a partition across archive and record, in one order.

use std::time::Duration;

use domain::{Partition, Sequence};
use event_log::{CatalogueError, FollowedMessage, Unavailable};
use futures::stream::{self, BoxStream, Stream, StreamExt as _};
use thiserror::Error;
use tokio::time::timeout;

use crate::segment::ArchivedMessage;
use crate::{Archive, ArchiveError, Reader};

/// Delay before a retry after the archive could not be read, and longest wait for a message that precedes an archived one.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Why the next message is not available yet.
#[derive(Debug, Error)]
pub enum FollowError {
    /// The connection to the record was lost; it recovers by itself.
    #[error(transparent)]
    Record(#[from] Unavailable),
    /// The archive cannot be read. Nothing is skipped: messages continue once it can be read.
    #[error(transparent)]
    Archive(ArchiveError),
}

impl FollowError {
    /// Whether the record does not answer.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Record(_))
    }
}

impl From<ArchiveError> for FollowError {
    /// An unavailable record stays an error of the record.
    fn from(error: ArchiveError) -> Self {
        if let ArchiveError::Record(unavailable) | ArchiveError::Catalogue(CatalogueError::Unavailable(unavailable)) =
            error
        {
            return Self::Record(unavailable);
        }
        Self::Archive(error)
    }
}

type Messages = BoxStream<'static, Result<FollowedMessage, Unavailable>>;

struct Following {
    archive: Archive,
    partition: Partition,
    /// The last returned message.
    last: Sequence,
    /// The record has no message after the last returned one and before this sequence; the maximum: none at all.
    recorded_from: Sequence,
    state: ArchiveState,
    next_archived: Option<ArchivedMessage>,
    record: Messages,
    next_recorded: Option<FollowedMessage>,
}

enum ArchiveState {
    Unopened,
    /// Failed: it is opened again after a delay.
    Failed,
    Open(Reader),
    Finished,
}

impl Archive {
    /// The sequence of a message of a partition after another: the next one of the record, from its leader, or one of the
    /// archive. `None`: neither has one.
    ///
    /// # Errors
    /// [`ArchiveError::Record`] or [`ArchiveError::Catalogue`].
    pub async fn next_after(&self, partition: Partition, after: Sequence) -> Result<Option<Sequence>, ArchiveError> {
        if let Some(next) = self.record.next_after(partition, after).await? {
            return Ok(Some(next.sequence));
        }
        let segments = self.segments(Some(partition)).await?;
        let ends = segments.iter().map(|one| Sequence(one.sealed.last_sequence));
        Ok(ends.filter(|end| *end > after).min())
    }

    /// A partition's messages after a sequence from archive and record, each once, in order, without end; see
    /// [`Record::follow`](event_log::Record::follow). Messages that were not returned yet must not be archived meanwhile: rows
    /// that contain them, or the lock of the process that writes rows, prevent that. Those of tenants outside [`Archive::tenants`] are
    /// marked.
    ///
    /// An error means that the next message is not available now; the next call tries again.
    pub fn follow(
        &self,
        partition: Partition,
        after: Sequence,
    ) -> impl Stream<Item = Result<FollowedMessage, FollowError>> + Send + Unpin + use<> {
        let following = Following {
            archive: self.clone(),
            partition,
            last: after,
            recorded_from: Sequence(0),
            state: ArchiveState::Unopened,
            next_archived: None,
            record: self.record.follow(partition, after).boxed(),
            next_recorded: None,
        };
        let items = stream::unfold(following, |mut following| async {
            let item = following.next().await;
            Some((item, following))
        });
        Box::pin(items)
    }
}

impl Following {
    async fn next(&mut self) -> Result<FollowedMessage, FollowError> {
        self.load_archived().await?;
        while self.needs_recorded() {
            self.load_recorded().await?;
        }
        let mut next = match (self.next_archived.take(), self.next_recorded.take()) {
            (Some(archived), recorded) => self.earlier(archived, recorded),
            (None, Some(recorded)) => recorded,
            (None, None) => self.read_record().await?,
        };
        self.last = next.message.position.sequence;
        // The next call returns the error of an archive that cannot be read.
        let follows = self.load_archived().await.is_err() || self.next_archived.is_some();
        next.pending = next.pending.saturating_add(follows.into());
        let key = next.key.as_ref();
        next.is_of_other = key.is_some_and(|key| !self.archive.tenants.contains(&key.tenant));
        Ok(next)
    }

    /// Whether a message of the record may precede the next archived one. All messages of a partition can be in the archive, so the
    /// stream may never return one.
    fn needs_recorded(&self) -> bool {
        let archived = self.next_archived.as_ref();
        let may_follow = archived.is_some_and(|archived| archived.sequence() >= self.recorded_from);
        may_follow && self.next_recorded.is_none()
    }

    async fn load_recorded(&mut self) -> Result<(), Unavailable> {
        // The leader decides: the replica that is followed may lag.
        let record = &self.archive.record;
        let next = record.next_after(self.partition, self.last).await?;
        self.recorded_from = next.map_or(Sequence(u64::MAX), |next| next.sequence);
        if self.needs_recorded() {
            // Without an answer in time, the message may have been removed.
            let read = timeout(RETRY_AFTER, self.read_record()).await;
            self.next_recorded = read.ok().transpose()?;
        }
        Ok(())
    }

    /// Returns the earlier of two messages and keeps the other, unless both are the same.
    fn earlier(&mut self, archived: ArchivedMessage, recorded: Option<FollowedMessage>) -> FollowedMessage {
        match recorded {
            Some(recorded) if recorded.message.position.sequence <= archived.sequence() => {
                let is_same = recorded.message.position.sequence == archived.sequence();
                self.next_archived = (!is_same).then_some(archived);
                recorded
            }
            recorded => {
                let has_recorded = recorded.is_some() || self.recorded_from < Sequence(u64::MAX);
                self.next_recorded = recorded;
                FollowedMessage {
                    key: Some(archived.key),
                    message: archived.message,
                    stored_at: archived.stored_at,
                    pending: has_recorded.into(),
                    is_of_other: false,
                }
            }
        }
    }

    async fn read_record(&mut self) -> Result<FollowedMessage, Unavailable> {
        let ended = Unavailable { what: "the stream of a partition ended", retry_after_ms: 0 };
        self.record.next().await.ok_or(ended)?
    }

    async fn load_archived(&mut self) -> Result<(), ArchiveError> {
        if matches!(self.state, ArchiveState::Failed) {
            tokio::time::sleep(RETRY_AFTER).await;
        }
        if matches!(self.state, ArchiveState::Unopened | ArchiveState::Failed) {
            self.state = ArchiveState::Failed;
            let reader = self.archive.read(self.partition, self.last).await?;
            self.state = ArchiveState::Open(reader);
        }
        if let (ArchiveState::Open(reader), None) = (&mut self.state, &self.next_archived) {
            let next = reader.next().await;
            match &next {
                Ok(Some(_)) => {}
                Ok(None) => self.state = ArchiveState::Finished,
                Err(_) => self.state = ArchiveState::Failed,
            }
            self.next_archived = next?;
        }
        Ok(())
    }
}
