//! Objects that stand for nothing: what a write that was cut short has left, or a segment's former object.
//!
//! A loose object that is not in its store may still come: its writer may be about to write it. So an erasure, which nothing
//! keeps from meeting a run, makes the writer fail by changing the entry first, removes what is there, and leaves the object
//! named; only whoever archives alone lets the name go.

use domain::Partition;
use event_log::{ArchiveEntry, CatalogueError, CataloguedEntry};

use crate::archive::Archive;
use crate::error::ArchiveError;

/// Most times that a partition's entries are gone through while others change them.
const PASSES_MAX: u32 = 8;

impl Archive {
    /// Removes loose objects of a partition, or of all, and forgets them; how many entries had some. For whoever archives
    /// alone: nobody may be writing a segment meanwhile.
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

    /// Makes every write of a partition that is under way fail, and removes the loose objects that are there. They stay
    /// named, so that one that comes late is found.
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
                        // Sealed or replaced just now: it is looked at again.
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

    /// First the entry changes, so that nobody seals an object that is removed here; then the objects go.
    async fn withdraw_entry(
        &self,
        catalogued: CataloguedEntry,
    ) -> Result<CataloguedEntry, ArchiveError> {
        let CataloguedEntry { entry, revision } = catalogued;
        let store = self.store_of(&entry)?;
        let withdrawn = self.record.put_archive_entry(&entry, Some(revision));
        let withdrawn = withdrawn.await?;
        for object in &entry.loose {
            store.remove(object).await?;
        }
        Ok(withdrawn)
    }

    /// Forgets the loose objects of an entry that are gone for sure, and the entry itself where nothing is left of it.
    pub(crate) async fn forget(
        &self,
        catalogued: CataloguedEntry,
        is_gone: impl Fn(&str) -> bool,
    ) -> Result<(), ArchiveError> {
        let CataloguedEntry { entry, revision } = catalogued;
        let mut left = entry.clone();
        left.loose.retain(|object| !is_gone(object));
        if left.sealed.is_none() && left.loose.is_empty() {
            let catalogued = CataloguedEntry { entry, revision };
            return Ok(self.record.remove_archive_entry(&catalogued).await?);
        }
        let put = self.record.put_archive_entry(&left, Some(revision)).await;
        match put {
            // Whoever has changed it has taken the names over.
            Ok(_) | Err(CatalogueError::Superseded { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_loose(entry: &ArchiveEntry) -> bool {
    !entry.loose.is_empty() || entry.sealed.is_none()
}
