//! Objects that stand for nothing: what a write that was cut short has left, or a segment's former object.

use domain::Partition;
use event_log::{ArchiveEntry, CataloguedEntry};

use crate::archive::Archive;
use crate::error::ArchiveError;

impl Archive {
    /// Removes loose objects of a partition, or of all; how many entries had some. A segment that is being written is given
    /// up by this: its writer is told.
    ///
    /// # Errors
    /// [`ArchiveError`]: call again.
    pub async fn tidy(&self, partition: Option<Partition>) -> Result<u64, ArchiveError> {
        let mut tidied = 0;
        for catalogued in self.record.archive_entries(partition).await? {
            if !catalogued.entry.loose.is_empty() || catalogued.entry.sealed.is_none() {
                self.tidy_entry(catalogued).await?;
                tidied += 1;
            }
        }
        Ok(tidied)
    }

    /// Removes an entry's loose objects, and the entry itself where nothing is left; `None`: it is gone.
    pub(crate) async fn tidy_entry(
        &self,
        catalogued: CataloguedEntry,
    ) -> Result<Option<CataloguedEntry>, ArchiveError> {
        let store = self.store_of(&catalogued.entry)?;
        for object in &catalogued.entry.loose {
            store.remove(object).await?;
        }
        if catalogued.entry.sealed.is_none() {
            self.record.remove_archive_entry(&catalogued).await?;
            return Ok(None);
        }
        let entry = ArchiveEntry {
            loose: Vec::new(),
            ..catalogued.entry
        };
        let revision = Some(catalogued.revision);
        Ok(Some(self.record.put_archive_entry(&entry, revision).await?))
    }
}
