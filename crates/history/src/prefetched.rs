//! The first events of a query, read with the snapshot.

use domain::Version;
use read_model::EventRow;
use read_model::queries::{EventQuery, EventRange, InheritedQuery};

use crate::range::Bounds;

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
    /// Own events, as one statement returned them.
    pub(crate) fn own(events: Vec<EventRow>, query: &EventQuery) -> Self {
        let batch = Bounds::of(query.limit, query.bytes_max);
        let last = events.last().filter(|_| batch.is_filled_by(&events));
        Self { through: last.map(|event| event.version), has_inherited: false, events }
    }

    /// Inherited events, as one statement returned them. `in_rows` are the inherited versions of the nearest ancestors whose
    /// rows contain them, the newest first; other rows can be incomplete.
    pub(crate) fn inherited(mut events: Vec<EventRow>, query: InheritedQuery<'_>, in_rows: &[EventRange]) -> Self {
        let mut newer = 0_u64;
        let searched = in_rows.iter().take_while(|range| {
            let is_searched = newer < u64::from(query.limit);
            newer = newer.saturating_add(range.last.0 - range.first.0 + 1);
            is_searched
        });
        let Some(oldest) = searched.last() else {
            return Self::default();
        };
        events.retain(|event| event.version >= oldest.first);
        let batch = Bounds::of(query.limit, query.bytes_max);
        let last = events.last().filter(|_| batch.is_filled_by(&events));
        Self { through: Some(last.map_or(oldest.first, |event| event.version)), has_inherited: true, events }
    }

    /// Adds inherited events after all own ones, unless the own ones fill the batch.
    pub(crate) fn append(&mut self, inherited: Self) {
        if self.through.is_none() && inherited.has_inherited {
            self.events.extend(inherited.events);
            self.through = inherited.through;
            self.has_inherited = true;
        }
    }

    /// Removes and returns the events from a version on. The events are newest first.
    pub(crate) fn take_from(&mut self, first: Version) -> Vec<EventRow> {
        let count = self.events.partition_point(|event| event.version >= first);
        let older = self.events.split_off(count);
        std::mem::replace(&mut self.events, older)
    }

    /// The event with this version.
    pub(crate) fn find(&self, version: Version) -> Option<&EventRow> {
        self.events.iter().find(|event| event.version == version)
    }
}
