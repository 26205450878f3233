//! Follows a partition across archive and record, in one order.

use std::time::Duration;

use domain::{Partition, Sequence};
use event_log::{CatalogueError, FollowedMessage, Unavailable};
use futures::stream::{self, BoxStream, Stream, StreamExt as _};
use thiserror::Error;

use crate::segment::ArchivedMessage;
use crate::{Archive, ArchiveError, Reader};

/// Delay before a retry after the archive could not be read.
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

impl From<ArchiveError> for FollowError {
    /// An unavailable record stays an error of the record.
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
    /// The last returned message.
    last: Sequence,
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
    /// A partition's messages after a sequence from archive and record, each once, in order, without end; see
    /// [`Record::follow`](event_log::Record::follow). Messages that were not returned yet must not be archived meanwhile: rows
    /// that contain them, or the lock of the process that writes rows, prevent that.
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
        if self.next_archived.is_some() && self.next_recorded.is_none() {
            self.next_recorded = Some(self.read_record().await?);
        }
        let next = match (self.next_archived.take(), self.next_recorded.take()) {
            (Some(archived), Some(read_record)) => self.earlier(archived, read_record),
            (_, Some(read_record)) => read_record,
            (_, None) => self.read_record().await?,
        };
        self.last = next.message.position.sequence;
        Ok(next)
    }

    /// Returns the earlier of two messages and keeps the other, unless both are the same.
    fn earlier(
        &mut self,
        archived: ArchivedMessage,
        read_record: FollowedMessage,
    ) -> FollowedMessage {
        let sequence = read_record.message.position.sequence;
        if archived.sequence() < sequence {
            // At least the record's message follows.
            let pending = read_record.pending.saturating_add(1);
            self.next_recorded = Some(read_record);
            return FollowedMessage {
                key: Some(archived.key),
                message: archived.message,
                stored_at: archived.stored_at,
                pending,
            };
        }
        self.next_archived = (archived.sequence() > sequence).then_some(archived);
        read_record
    }

    async fn read_record(&mut self) -> Result<FollowedMessage, Unavailable> {
        let ended = Unavailable {
            what: "the stream of a partition ended",
            retry_after_ms: 0,
        };
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
