//! Objects that the catalogue does not name.
//!
//! Operators delete these by hand. Therefore an object is unknown only if the catalogue does not name it after it was listed,
//! and if it exists: writers enter an object in the catalogue before they write it, and listings may be old.

use std::collections::{BTreeMap, BTreeSet};

use event_log::{ArchiveEntry, CataloguedEntry};

use crate::adopt::EMPTIED;
use crate::{Archive, ArchiveError, Store};

impl Archive {
    /// The objects of this record that the catalogue does not name, by store and name; in the catalogue's stores and in the store
    /// that the archive was moved to. A restore of an older backup leaves some. Nothing reads them, and no erasure reaches
    /// them.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn unknown_objects(&self) -> Result<Vec<(String, String)>, ArchiveError> {
        let folder = hex::encode(self.record.id().0);
        let stores = self.all_stores().await?;
        let mut listed = Vec::new();
        for (url, store) in &stores {
            let names = store.list(&folder).await?.into_iter();
            listed.extend(names.map(|object| (url, store, object)));
        }
        let known = self.known_objects().await?;
        let mut unknown = Vec::new();
        for (url, store, object) in listed {
            let of_store = known.get(url);
            let is_known = of_store.is_some_and(|names| names.contains(&object));
            if !is_known && !object.ends_with(EMPTIED) && store.exists(&object).await? {
                unknown.push((url.clone(), object));
            }
        }
        Ok(unknown)
    }

    /// The stores of the archive, by their URLs.
    async fn all_stores(&self) -> Result<BTreeMap<String, Store>, ArchiveError> {
        let entries = self.record.archive_entries(None).await?;
        if let (Some(url), true) = (&self.moved_to, entries.is_empty()) {
            let store = Store::open_with(url, &self.s3)?;
            return Ok([(url.to_string(), store)].into());
        }
        let stores = entries.iter();
        // Other commands report an unreachable store.
        let stores = stores.filter_map(|one| self.store_of(&one.entry).ok());
        Ok(stores.map(|store| (store.url().to_string(), store)).collect())
    }

    /// The objects that the catalogue names, by the URLs of their stores.
    async fn known_objects(&self) -> Result<BTreeMap<String, BTreeSet<String>>, ArchiveError> {
        let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for CataloguedEntry { entry, .. } in self.record.archive_entries(None).await? {
            let Ok(store) = self.store_of(&entry) else {
                continue;
            };
            let ArchiveEntry { sealed, loose, .. } = entry;
            let of_store = known.entry(store.url().to_string()).or_default();
            of_store.extend(sealed.map(|sealed| sealed.object));
            of_store.extend(loose);
        }
        Ok(known)
    }
}
