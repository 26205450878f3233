//! A catalogue that is older than its store: a restored one names objects that were written anew since.

use event_log::{ArchiveEntry, ArchivedSegment};
use uuid::Uuid;

use crate::archive::{Archive, CataloguedSegment, store_of};
use crate::error::ArchiveError;
use crate::object::Object;
use crate::seal::told;
use crate::segment::decode;
use crate::store::{Store, StoreError, StoreUrl};

/// What the name ends in that stands in the place of an emptied segment.
pub(crate) const EMPTIED: &str = ".emptied";

/// Looks for the object of each segment of a catalogue that is not restored yet, or for one that was written in its place;
/// how many there are. `moved_to`: where all of them are, when they are not where the catalogue says.
///
/// # Errors
/// [`ArchiveError::Unreachable`]: the first that is not there.
pub async fn look_for(
    catalogue: &[ArchiveEntry],
    moved_to: Option<&StoreUrl>,
) -> Result<usize, ArchiveError> {
    let mut found = 0;
    for entry in catalogue {
        let Some(sealed) = &entry.sealed else {
            continue;
        };
        let unreachable = |source| ArchiveError::Unreachable {
            segment: entry.segment,
            source,
        };
        let store = store_of(entry, moved_to)?;
        if let Err(error) = store.size(&sealed.object).await {
            let names = of_segment(&store, entry.segment, &sealed.object).await;
            if names.map_err(unreachable)?.is_empty() {
                return Err(unreachable(error));
            }
        }
        found += 1;
    }
    Ok(found)
}

/// The name of what stands in the place of a segment that nothing is left of: without a byte, so that whoever comes with an older
/// catalogue knows that the segment is not lost. `object` is a name of the segment's.
pub(crate) fn emptied(segment: Uuid, object: &str) -> String {
    let (folder, _) = object.rsplit_once('/').unwrap_or_default();
    format!("{folder}/{segment}{EMPTIED}")
}

async fn is_emptied(object: &Object) -> Result<bool, ArchiveError> {
    let name = emptied(object.segment, &object.sealed.object);
    match object.store.size(&name).await {
        Ok(_) => Ok(true),
        Err(StoreError::Missing { .. }) => Ok(false),
        Err(source) => Err(ArchiveError::Unreachable {
            segment: object.segment,
            source,
        }),
    }
}

/// The objects of a segment, whatever their generation; `object` is one of their names.
async fn of_segment(store: &Store, segment: Uuid, object: &str) -> Result<Vec<String>, StoreError> {
    let (folder, _) = object.rsplit_once('/').unwrap_or_default();
    let begins = format!("{folder}/{segment}.");
    let mut names = store.list(folder).await?;
    names.retain(|name| name.starts_with(&begins));
    Ok(names)
}

impl Archive {
    /// Takes, for each segment whose object is gone, the object that was written in its place, when what was erased was taken
    /// out of it; how many. It is known by its name and by what it says of itself, and checked whole. A segment that was
    /// emptied leaves the catalogue.
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
            if is_emptied(&object).await? {
                self.record
                    .remove_archive_entry(&segment.catalogued)
                    .await?;
                adopted += 1;
            } else if let Some(sealed) = self.successor(&object).await? {
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
        let names = of_segment(&object.store, object.segment, &object.sealed.object).await;
        for name in names.map_err(unreachable)? {
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
