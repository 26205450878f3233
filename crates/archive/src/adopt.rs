//! Adoption of rewritten objects by a restored catalogue, which is older than its store.

use event_log::{ArchiveEntry, ArchivedSegment};
use uuid::Uuid;

use crate::archive::store_of;
use crate::object::Object;
use crate::seal::describe;
use crate::segment::decode;
use crate::{Archive, ArchiveError, CataloguedSegment, S3Settings, Store, StoreError, StoreUrl};

/// Suffix of the marker object of an emptied segment.
pub(crate) const EMPTIED: &str = ".emptied";

/// Checks, before a restore, that the store has the object of each catalogued segment or a rewritten one; returns how many
/// segments there are. `moved_to`: the store of all objects, if they are not where the catalogue says.
///
/// # Errors
/// [`ArchiveError::Unreachable`]: the first missing object.
pub async fn check_objects(catalogue: &[ArchiveEntry], moved_to: Option<&StoreUrl>) -> Result<usize, ArchiveError> {
    let s3 = S3Settings::of_environment();
    let mut found = 0;
    for entry in catalogue {
        let Some(sealed) = &entry.sealed else {
            continue;
        };
        let unreachable = ArchiveError::unreachable(entry.segment);
        let store = store_of(entry, moved_to, &s3)?;
        if let Err(error) = store.size(&sealed.object).await {
            let names = list_segment(&store, entry.segment, &sealed.object).await;
            if names.map_err(unreachable)?.is_empty() {
                return Err(unreachable(error));
            }
        }
        found += 1;
    }
    Ok(found)
}

/// The name of the empty marker object of a segment without any content left. An older catalogue finds it and does not treat the
/// segment as lost. `object` is an object name of the segment.
pub(crate) fn emptied(segment: Uuid, object: &str) -> String {
    let (folder, _) = object.rsplit_once('/').unwrap_or_default();
    format!("{folder}/{segment}{EMPTIED}")
}

async fn is_emptied(object: &Object) -> Result<bool, ArchiveError> {
    let name = emptied(object.segment, &object.sealed.object);
    object.store.exists(&name).await.map_err(ArchiveError::unreachable(object.segment))
}

/// All objects of a segment, of any generation; `object` is one of their names.
async fn list_segment(store: &Store, segment: Uuid, object: &str) -> Result<Vec<String>, StoreError> {
    let (folder, _) = object.rsplit_once('/').unwrap_or_default();
    let prefix = format!("{folder}/{segment}.");
    let mut names = store.list(folder).await?;
    names.retain(|name| name.starts_with(&prefix));
    Ok(names)
}

impl Archive {
    /// Adopts, for each segment whose object is missing, the object that an erasure wrote in its place; returns how many. The
    /// object is found by its name and its index, and checked completely. An emptied segment is removed from the
    /// catalogue.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn adopt(&self) -> Result<u64, ArchiveError> {
        let mut adopted = 0;
        for segment in self.segments(None).await? {
            let object = self.object(&segment)?;
            let size = object.store.size(&segment.sealed.object).await;
            if !matches!(size, Err(StoreError::Missing { .. })) {
                continue;
            }
            if is_emptied(&object).await? {
                let entry = &segment.catalogued;
                self.record.remove_archive_entry(entry).await?;
                adopted += 1;
            } else if let Some(sealed) = self.successor(&object).await? {
                self.replace_sealed(segment, sealed).await?;
                adopted += 1;
            }
        }
        Ok(adopted)
    }

    /// The intact object of the segment in its store, of any generation.
    async fn successor(&self, object: &Object) -> Result<Option<ArchivedSegment>, ArchiveError> {
        let unreachable = ArchiveError::unreachable(object.segment);
        let names = list_segment(&object.store, object.segment, &object.sealed.object).await;
        for name in names.map_err(unreachable)? {
            let bytes = match object.store.read_all(&name).await {
                // The listing is old.
                Err(StoreError::Missing { .. }) => continue,
                read => read.map_err(unreachable)?,
            };
            let Ok((index, _)) = decode(&bytes) else {
                continue;
            };
            if index.origin.segment == object.segment && index.origin.record == self.record.id() {
                return Ok(Some(ArchivedSegment {
                    made_at: object.sealed.made_at.clone(),
                    is_trimmed: object.sealed.is_trimmed,
                    ..describe(&index, &bytes, name)
                }));
            }
        }
        Ok(None)
    }

    /// Replaces the contents of a segment in the catalogue.
    pub(crate) async fn replace_sealed(
        &self,
        segment: CataloguedSegment,
        sealed: ArchivedSegment,
    ) -> Result<(), ArchiveError> {
        let entry = ArchiveEntry { sealed: Some(sealed), ..segment.catalogued.entry };
        let revision = Some(segment.catalogued.revision);
        self.record.put_archive_entry(&entry, revision).await?;
        Ok(())
    }
}
