//! The first events of a query, read with the snapshot.

use domain::Version;
use read_model::EventRow;
use read_model::queries::{EventRange, RangesQuery, is_rare};
use wire::status::Problem;

use crate::lineage_rows::{ranges_of_batch, read_ranges};
use crate::query::{Batch, Query};
use crate::target::{Reader, Target};

/// The first events of a query.
#[derive(Debug, Default)]
pub struct Prefetched {
    /// In the direction of the query.
    pub(crate) events: Vec<EventRow>,
    /// The events contain all rows of the query up to this version; `None`: all own rows.
    pub(crate) through: Option<Version>,
    /// Whether inherited events were read.
    pub(crate) has_inherited: bool,
}

impl Prefetched {
    /// Own events, as one statement returned them for this batch.
    pub(crate) fn own(events: Vec<EventRow>, batch: Batch) -> Self {
        let is_filled = batch.of_one_statement().is_filled_by(&events);
        let last = events.last().filter(|_| is_filled);
        Self {
            through: last.map(|event| event.version),
            has_inherited: false,
            events,
        }
    }

    /// Adds inherited events after all own ones.
    pub(crate) fn append(&mut self, inherited: Self) {
        if inherited.has_inherited {
            self.events.extend(inherited.events);
            self.through = inherited.through;
            self.has_inherited = true;
        }
    }
}

/// The inherited events to prefetch: those of a query that reads backward, after the own events.
#[derive(Debug)]
pub(crate) struct InheritedBatch<'q> {
    query: Query<'q>,
    batch: Batch,
    ranges: Vec<EventRange>,
}

impl<'q> InheritedBatch<'q> {
    /// `None`: the own events fill the batch.
    pub(crate) fn after(query: &Query<'q>, batch: Batch, own: &Prefetched) -> Option<Self> {
        own.through.is_none().then(|| Self {
            query: *query,
            batch: batch.of_one_statement().after(&own.events),
            ranges: Vec::new(),
        })
    }

    /// Selects the ranges to read from those in rows, the newest first.
    pub(crate) fn select(mut self, in_rows: &[EventRange]) -> Self {
        self.ranges = ranges_of_batch(&self.query, in_rows, self.batch);
        self
    }

    /// Whether the newest event of a range is probably read: its kind or the bounds of the batch can exclude it.
    pub(crate) fn has_last_of(&self, range: &EventRange) -> bool {
        let is_last = |read: &EventRange| read.last == range.last;
        !is_rare(self.query.kinds) && self.ranges.iter().any(is_last)
    }

    pub(crate) async fn read(&self, reader: &Reader, fork: &Target) -> Result<Prefetched, Problem> {
        let Some(oldest) = self.ranges.last() else {
            return Ok(Prefetched::default());
        };
        let query = RangesQuery {
            ranges: &self.ranges,
            kinds: self.query.kinds,
            limit: u32::try_from(self.batch.events_max).unwrap_or(u32::MAX),
            bytes_max: self.batch.bytes_max,
        };
        let events = read_ranges(reader, fork, query).await?;
        let last = events.last().filter(|_| self.batch.is_filled_by(&events));
        Ok(Prefetched {
            through: Some(last.map_or(oldest.first, |event| event.version)),
            has_inherited: true,
            events,
        })
    }
}
