//! Removal of loose objects: objects of interrupted writes and former objects of segments.
//!
//! A loose object that does not exist may still appear: its writer may be about to write it. An erasure can run during an
//! archive run. It therefore changes the entry first, which makes the writer fail, then removes existing objects and keeps their
//! names in the entry. Only the exclusive archive run removes the names.

use domain::Partition;
use event_log::{ArchiveEntry, CatalogueError, CataloguedEntry};

use crate::{Archive, ArchiveError};

/// Maximum passes over a partition's entries while other processes change them.
const PASSES_MAX: u32 = 8;

impl Archive {
    /// Removes loose objects of a partition or of all, and their names; returns how many entries had some. The caller must be the
    /// only process that archives.
    ///
    /// # Errors
    /// [`ArchiveError`]: call again.
    pub async fn tidy(&self, partition: Option<Partition>) -> Result<u64, ArchiveError> {
        let mut tidied = 0;
        for catalogued in self.record.archive_entries(partition).await? {
            if is_loose(&catalogued.entry) {
                let withdrawn = self.withdraw_entry(catalogued).await?;
                self.forget(withdrawn, |_| true).await?;
                tidied += 1;
            }
        }
        Ok(tidied)
    }

    /// Makes every write in progress in a partition fail, and removes existing loose objects. Their names stay, so that an object
    /// that is written late is found.
    pub(crate) async fn withdraw(&self, partition: Partition) -> Result<(), ArchiveError> {
        let mut outcome = Ok(());
        for _ in 0..PASSES_MAX {
            outcome = Ok(());
            for catalogued in self.record.archive_entries(Some(partition)).await? {
                if !is_loose(&catalogued.entry) {
                    continue;
                }
                match self.withdraw_entry(catalogued).await {
                    Err(error @ ArchiveError::Catalogue(CatalogueError::Superseded { .. })) => {
                        // Sealed or replaced just now: the next pass reads it again.
                        outcome = Err(error);
                    }
                    withdrawn => drop(withdrawn?),
                }
            }
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    /// Changes the entry first, so that no process seals an object that is removed here; then removes the objects.
    async fn withdraw_entry(&self, catalogued: CataloguedEntry) -> Result<CataloguedEntry, ArchiveError> {
        let CataloguedEntry { entry, revision } = catalogued;
        let store = self.store_of(&entry)?;
        let withdrawn = self.record.put_archive_entry(&entry, Some(revision)).await?;
        for object in &entry.loose {
            store.remove(object).await?;
        }
        Ok(withdrawn)
    }

    /// Removes the names of removed loose objects from an entry, and an empty entry from the catalogue.
    pub(crate) async fn forget(
        &self,
        catalogued: CataloguedEntry,
        is_removed: impl Fn(&str) -> bool,
    ) -> Result<(), ArchiveError> {
        let CataloguedEntry { entry, revision } = catalogued;
        let mut left = entry.clone();
        left.loose.retain(|object| !is_removed(object));
        if left.sealed.is_none() && left.loose.is_empty() {
            let catalogued = CataloguedEntry { entry, revision };
            return Ok(self.record.remove_archive_entry(&catalogued).await?);
        }
        let put = self.record.put_archive_entry(&left, Some(revision)).await;
        match put {
            // The process that changed the entry kept the names.
            Ok(_) | Err(CatalogueError::Superseded { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_loose(entry: &ArchiveEntry) -> bool {
    !entry.loose.is_empty() || entry.sealed.is_none()
}
