//! Objects that the catalogue does not name.

use std::collections::{BTreeMap, BTreeSet};

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
        let mut stores: BTreeMap<String, (Store, BTreeSet<String>)> = BTreeMap::new();
        let entries = self.record.archive_entries(None).await?;
        if let (Some(url), true) = (&self.moved_to, entries.is_empty()) {
            let store = Store::open_with(url, &self.s3)?;
            stores.insert(url.to_string(), (store, BTreeSet::new()));
        }
        for catalogued in entries {
            let entry = catalogued.entry;
            // Other commands report an unreachable store.
            let Ok(store) = self.store_of(&entry) else {
                continue;
            };
            let of_store = stores.entry(store.url().to_string());
            let (_, known) = of_store.or_insert_with(|| (store, BTreeSet::new()));
            known.extend(entry.sealed.map(|sealed| sealed.object));
            known.extend(entry.loose);
        }
        let folder = hex::encode(self.record.id().0);
        let mut unknown = Vec::new();
        for (url, (store, known)) in stores {
            let found = store.list(&folder).await?.into_iter();
            let found =
                found.filter(|object| !known.contains(object) && !object.ends_with(EMPTIED));
            unknown.extend(found.map(|object| (url.clone(), object)));
        }
        Ok(unknown)
    }
}
