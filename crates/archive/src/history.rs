//! A partition as if nothing of it were elsewhere: what the archive holds and what the record holds, in one order.

use std::time::Duration;

use domain::{Partition, Sequence};
use event_log::{CatalogueError, FollowedMessage, Unavailable};
use futures::stream::{self, BoxStream, Stream, StreamExt as _};
use thiserror::Error;

use crate::archive::Archive;
use crate::error::ArchiveError;
use crate::merge::Reader;
use crate::segment::ArchivedMessage;

/// How long to wait after the archive could not be read, before it is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Why the next message is not there yet.
#[derive(Debug, Error)]
pub enum FollowError {
    /// The record was lost; it goes on by itself.
    #[error(transparent)]
    Record(#[from] Unavailable),
    /// The archive cannot be read: nothing comes until it can be, and nothing is passed over.
    #[error(transparent)]
    Archive(ArchiveError),
}

impl From<ArchiveError> for FollowError {
    /// Where only the record does not answer, that is what is told.
    fn from(error: ArchiveError) -> Self {
        if let ArchiveError::Record(unavailable)
        | ArchiveError::Catalogue(CatalogueError::Unavailable(unavailable)) = error
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
    /// The last message that was given.
    last: Sequence,
    place: Place,
    reader: Option<Reader>,
    /// What was read of the archive and is not due yet.
    aside: Option<ArchivedMessage>,
    record: Messages,
    /// What was read of the record and is not due yet.
    ahead: Option<FollowedMessage>,
}

/// How far the archive is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Not looked at.
    Unopened,
    /// Lost: it is opened again, a moment later.
    Failed,
    /// Being read.
    Open,
    /// It holds no more.
    Over,
}

impl Archive {
    /// A partition's messages after a sequence, archived ones among them, each once, in order, for ever; as
    /// [`Record::follow`](event_log::Record::follow), which see. Nobody may archive meanwhile what was not given yet: rows
    /// that hold it, or the lock of whoever makes rows, see to that.
    ///
    /// An error says that the next message cannot be had now; it is tried again when it is asked for again.
    pub fn follow(
        &self,
        partition: Partition,
        after: Sequence,
    ) -> impl Stream<Item = Result<FollowedMessage, FollowError>> + Send + Unpin + use<> {
        let following = Following {
            archive: self.clone(),
            partition,
            last: after,
            place: Place::Unopened,
            reader: None,
            aside: None,
            record: self.record.follow(partition, after).boxed(),
            ahead: None,
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
        self.look_into_archive().await?;
        if self.aside.is_some() && self.ahead.is_none() {
            self.ahead = Some(self.recorded().await?);
        }
        let next = match (self.aside.take(), self.ahead.take()) {
            (Some(archived), Some(recorded)) => self.earlier(archived, recorded),
            (_, Some(recorded)) => recorded,
            (_, None) => self.recorded().await?,
        };
        self.last = next.message.position.sequence;
        Ok(next)
    }

    /// The first of two messages; the other waits for its turn, unless it is the same.
    fn earlier(&mut self, archived: ArchivedMessage, recorded: FollowedMessage) -> FollowedMessage {
        let place = recorded.message.position.sequence;
        if archived.sequence() < place {
            // One follows at least: the record's.
            let pending = recorded.pending.saturating_add(1);
            self.ahead = Some(recorded);
            return FollowedMessage {
                key: Some(archived.key),
                message: archived.message,
                stored_at: archived.stored_at,
                pending,
            };
        }
        self.aside = (archived.sequence() > place).then_some(archived);
        recorded
    }

    async fn recorded(&mut self) -> Result<FollowedMessage, Unavailable> {
        let ended = Unavailable {
            what: "a followed stream ended",
            retry_after_ms: 0,
        };
        self.record.next().await.ok_or(ended)?
    }

    /// Sees to it that the next archived message, if there is one, is at hand.
    async fn look_into_archive(&mut self) -> Result<(), ArchiveError> {
        if self.place == Place::Failed {
            tokio::time::sleep(RETRY_AFTER).await;
        }
        if matches!(self.place, Place::Unopened | Place::Failed) {
            self.place = Place::Failed;
            let reader = self.archive.read(self.partition, self.last).await?;
            (self.reader, self.place) = (Some(reader), Place::Open);
        }
        let Some(reader) = self.reader.as_mut().filter(|_| self.aside.is_none()) else {
            return Ok(());
        };
        let next = reader.next().await;
        if !matches!(next, Ok(Some(_))) {
            self.place = if next.is_ok() {
                Place::Over
            } else {
                Place::Failed
            };
            self.reader = None;
        }
        self.aside = next?;
        Ok(())
    }
}
