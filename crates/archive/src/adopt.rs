//! A catalogue that is older than its store: a restored one names objects that were written anew since.

use event_log::{ArchiveEntry, ArchivedSegment};

use crate::archive::{Archive, CataloguedSegment};
use crate::error::ArchiveError;
use crate::object::Object;
use crate::seal::told;
use crate::segment::decode;
use crate::store::StoreError;

impl Archive {
    /// Takes, for each segment whose object is gone, the object that was written in its place, when what was erased was taken
    /// out of it; how many. It is known by its name and by what it says of itself, and checked whole.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn adopt(&self) -> Result<u64, ArchiveError> {
        let mut adopted = 0;
        for segment in self.segments(None).await? {
            let object = self.object(&segment)?;
            match object.store.size(&segment.sealed.object).await {
                Err(StoreError::Missing { .. }) => {}
                Ok(_) | Err(_) => continue,
            }
            if let Some(sealed) = self.successor(&object).await? {
                self.take(segment, sealed).await?;
                adopted += 1;
            }
        }
        Ok(adopted)
    }

    /// The one whole object of the segment in its store, whatever its generation.
    async fn successor(&self, object: &Object) -> Result<Option<ArchivedSegment>, ArchiveError> {
        let unreachable = |source| ArchiveError::Unreachable {
            segment: object.segment,
            source,
        };
        let (folder, _) = object.sealed.object.rsplit_once('/').unwrap_or_default();
        let begins = format!("{folder}/{}.", object.segment);
        for name in object.store.list(folder).await.map_err(unreachable)? {
            if !name.starts_with(&begins) {
                continue;
            }
            let bytes = object.store.read_all(&name).await.map_err(unreachable)?;
            let Ok((index, _)) = decode(&bytes) else {
                continue;
            };
            if index.origin.segment == object.segment && index.origin.record == self.record.id() {
                return Ok(Some(ArchivedSegment {
                    made_at: object.sealed.made_at.clone(),
                    is_trimmed: object.sealed.is_trimmed,
                    ..told(&index, &bytes, name)
                }));
            }
        }
        Ok(None)
    }

    async fn take(
        &self,
        segment: CataloguedSegment,
        sealed: ArchivedSegment,
    ) -> Result<(), ArchiveError> {
        let entry = ArchiveEntry {
            sealed: Some(sealed),
            ..segment.catalogued.entry
        };
        let revision = Some(segment.catalogued.revision);
        self.record.put_archive_entry(&entry, revision).await?;
        Ok(())
    }
}
