//! The archive of a record: its segments and their stores.

use domain::{Partition, Sequence, TenantFilter};
use event_log::{ArchiveEntry, ArchivedSegment, CataloguedEntry, Record};

use crate::indexes::Indexes;
use crate::known_segments::KnownSegments;
use crate::object::Object;
use crate::segment::{ArchivedMessage, Index};
use crate::{ArchiveError, Reader, S3Settings, Store, StoreError, StoreUrl};

/// A record's archive.
#[derive(Debug, Clone)]
pub struct Archive {
    pub(crate) record: Record,
    pub(crate) moved_to: Option<StoreUrl>,
    pub(crate) s3: S3Settings,
    indexes: Indexes,
    pub(crate) known: KnownSegments,
    pub(crate) tenants: TenantFilter,
}

/// A sealed segment of the catalogue.
#[derive(Debug, Clone)]
pub struct CataloguedSegment {
    /// Its catalogue entry.
    pub catalogued: CataloguedEntry,
    /// Its contents.
    pub sealed: ArchivedSegment,
}

impl CataloguedSegment {
    pub(crate) fn of(catalogued: CataloguedEntry) -> Option<Self> {
        let sealed = catalogued.entry.sealed.clone()?;
        Some(Self { catalogued, sealed })
    }

    /// Its partition.
    #[must_use]
    pub fn partition(&self) -> Partition {
        Partition(self.catalogued.entry.partition)
    }
}

impl Archive {
    /// The archive of a record, with the stores that the catalogue names and the settings of S3 of the environment.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        Self {
            record: record.clone(),
            moved_to: None,
            s3: S3Settings::of_environment(),
            indexes: Indexes::default(),
            known: KnownSegments::default(),
            tenants: TenantFilter::default(),
        }
    }

    /// The same archive for the rows of some tenants: [`Archive::follow`] marks the messages of others.
    #[must_use]
    pub fn of_tenants(self, tenants: TenantFilter) -> Self {
        Self { tenants, ..self }
    }

    /// The tenants whose rows are of interest.
    #[must_use]
    pub fn tenants(&self) -> &TenantFilter {
        &self.tenants
    }

    /// The archive of a record, by the setting `archive_url` of a role; empty: the segments are where the catalogue says.
    ///
    /// # Errors
    /// [`StoreError::Url`].
    pub fn at(record: &Record, archive_url: &str) -> Result<Self, StoreError> {
        Ok(Self::of(record).moved_to(StoreUrl::parse_moved(archive_url)?))
    }

    /// The same archive with all objects in another store; `None`: in the stores that the catalogue names.
    #[must_use]
    pub fn moved_to(self, url: Option<StoreUrl>) -> Self {
        Self { moved_to: url, ..self }
    }

    /// The same archive with other settings of S3.
    #[must_use]
    pub fn with_s3(self, settings: S3Settings) -> Self {
        Self { s3: settings, ..self }
    }

    /// The record of the archive.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The segments of a partition or of all, by id.
    ///
    /// # Errors
    /// [`ArchiveError::Catalogue`].
    pub async fn segments(&self, partition: Option<Partition>) -> Result<Vec<CataloguedSegment>, ArchiveError> {
        let entries = self.record.archive_entries(partition).await?;
        let segments = entries.into_iter().filter_map(CataloguedSegment::of);
        Ok(segments.collect())
    }

    /// A partition's archived messages after a sequence, in order.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn read(&self, partition: Partition, after: Sequence) -> Result<Reader, ArchiveError> {
        let mut objects = Vec::new();
        for segment in self.segments(Some(partition)).await? {
            if segment.sealed.last_sequence > after.0 {
                objects.push(self.object(&segment)?);
            }
        }
        Ok(Reader::over(objects, after))
    }

    /// Reads the index of every segment, so that a following change does not fail on an unreadable segment; returns how many
    /// segments there are.
    ///
    /// # Errors
    /// [`ArchiveError`]: the first unreadable segment.
    pub async fn check_reachable(&self) -> Result<usize, ArchiveError> {
        let segments = self.segments(None).await?;
        for segment in &segments {
            self.object(segment)?.index().await?;
        }
        Ok(segments.len())
    }

    /// The index and all messages of a segment, in order, completely checked.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn load(&self, segment: &CataloguedSegment) -> Result<(Index, Vec<ArchivedMessage>), ArchiveError> {
        self.object(segment)?.all().await
    }

    pub(crate) fn object(&self, segment: &CataloguedSegment) -> Result<Object, ArchiveError> {
        Ok(Object {
            store: self.store_of(&segment.catalogued.entry)?,
            segment: segment.catalogued.entry.segment,
            sealed: segment.sealed.clone(),
            indexes: self.indexes.clone(),
        })
    }

    pub(crate) fn store_of(&self, entry: &ArchiveEntry) -> Result<Store, ArchiveError> {
        store_of(entry, self.moved_to.as_ref(), &self.s3)
    }
}

/// The store of an entry's objects, or the store that all objects were moved to.
pub(crate) fn store_of(
    entry: &ArchiveEntry,
    moved_to: Option<&StoreUrl>,
    s3: &S3Settings,
) -> Result<Store, ArchiveError> {
    let unreachable = ArchiveError::unreachable(entry.segment);
    let url = match moved_to {
        Some(url) => url.clone(),
        None => StoreUrl::parse(&entry.store).map_err(unreachable)?,
    };
    Store::open_with(&url, s3).map_err(unreachable)
}
