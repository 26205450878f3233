//! One conversation's commits from archive and record, page by page.

use domain::{ConversationKey, Sequence};
use event_log::{StoredMessage, TailBounds};

use crate::{Archive, ArchiveError, Reader};

/// A conversation's commits: first those in the archive, then those in the record, which are all later.
#[derive(Debug)]
pub struct Commits {
    archive: Archive,
    key: ConversationKey,
    /// `None`: the archive is read completely.
    archived: Option<Reader>,
    /// The sequence to continue after in the record; `None`: the record is read completely.
    after: Option<Sequence>,
}

impl Archive {
    /// The commits of a conversation after a sequence.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn commits(&self, key: &ConversationKey, after: Sequence) -> Result<Commits, ArchiveError> {
        let partition = self.partition_of(key).await?;
        let reader = self.read(partition, after).await?.only(key.clone());
        Ok(Commits { archive: self.clone(), key: key.clone(), archived: Some(reader), after: Some(after) })
    }
}

impl Commits {
    /// The next commits, in order, within the bounds; `None`: the end. A page can be empty before the end.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn next(&mut self, bounds: TailBounds) -> Result<Option<Vec<StoredMessage>>, ArchiveError> {
        if let Some(reader) = &mut self.archived {
            let (mut page, mut bytes) = (Vec::new(), 0_usize);
            while page.len() < bounds.commits_max.max(1) && bytes < bounds.bytes_max.max(1) {
                let Some(message) = reader.next().await? else {
                    self.archived = None;
                    break;
                };
                bytes = bytes.saturating_add(message.message.message.len());
                self.after = Some(message.sequence());
                page.push(message.message);
            }
            if !page.is_empty() {
                return Ok(Some(page));
            }
        }
        let Some(after) = self.after else {
            return Ok(None);
        };
        let tail = self.archive.record.tail(&self.key, after, bounds).await?;
        self.after = tail.resume_after;
        Ok(Some(tail.commits))
    }
}
