//! The events to read, and the size of batches.

use domain::{EventKind, Version};
use read_model::EventRow;
pub use read_model::queries::Direction;
use read_model::queries::{EVENTS_PER_READ_MAX, EventQuery, InheritedQuery, is_rare};

use crate::event::size_bytes;
use crate::position::CommitPosition;

/// Maximum number of ranges that one statement reads.
pub(crate) const RANGES_PER_READ_MAX: usize = 64;

/// Which events to read.
#[derive(Debug, Clone, Copy)]
pub struct Range<'q> {
    /// The first version.
    pub from: Version,
    /// The last version; [`EventQuery::OPEN_END`] for all.
    pub to: Version,
    /// Only events of these kinds; empty: all.
    pub kinds: &'q [EventKind],
    /// The direction.
    pub direction: Direction,
    /// The last known commit before the first version: a long tail is read from there. For forward reads.
    pub after: CommitPosition,
}

impl Range<'static> {
    /// All events.
    #[must_use]
    pub fn all(direction: Direction) -> Self {
        Self {
            from: Version::ZERO.next(),
            to: EventQuery::OPEN_END,
            kinds: &[],
            direction,
            after: CommitPosition::default(),
        }
    }
}

impl Range<'_> {
    /// The part of the query that the statement of the snapshot reads: the conversation's own rows.
    pub(crate) fn to_event_query(self, batch: Bounds) -> EventQuery {
        EventQuery {
            from: self.from,
            to: self.to,
            direction: self.direction,
            kinds: self.kinds.to_vec(),
            limit: u32::try_from(batch.of_one_statement().events_max).unwrap_or(u32::MAX),
            bytes_max: batch.bytes_max,
        }
    }
}

/// What to read from the rows, in one statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowQuery<'q> {
    /// The complete conversation without events.
    Conversation,
    /// The head and these events.
    Events(&'q EventQuery),
}

impl<'q> RowQuery<'q> {
    /// The inherited events to read for a fork with this number of own versions: those of a read backward of common kinds,
    /// unless own events probably fill it.
    pub(crate) fn inherited(self, own: u64) -> InheritedQuery<'q> {
        match self {
            Self::Events(query)
                if query.direction == Direction::Backward
                    && own < u64::from(query.limit)
                    && query.bytes_max > 0
                    && !is_rare(&query.kinds) =>
            {
                InheritedQuery {
                    from: query.from,
                    to: query.to,
                    kinds: &query.kinds,
                    limit: query.limit,
                    bytes_max: query.bytes_max,
                }
            }
            Self::Events(_) | Self::Conversation => InheritedQuery::default(),
        }
    }
}

/// How many events to read: of a batch, a page or a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Maximum number of events.
    pub events_max: usize,
    /// Maximum bytes of events. One event is read regardless of its size. A batch ends with the event that reaches this sum; a page
    /// ends before the one that exceeds it.
    pub bytes_max: u64,
}

impl Bounds {
    /// One event of any size.
    pub const ONE: Self = Self { events_max: 1, bytes_max: 1 };

    /// At most `limit` events.
    #[must_use]
    pub fn of(limit: u32, bytes_max: u64) -> Self {
        Self { events_max: usize::try_from(limit).unwrap_or(usize::MAX), bytes_max }
    }

    /// The batch that fills a page: one event more, to detect a next page.
    #[must_use]
    pub fn one_more(self) -> Self {
        Self { events_max: self.events_max.saturating_add(1), bytes_max: self.bytes_max.saturating_add(1) }
    }

    /// Whether these events fill the batch; otherwise a read that returned them has reached its end.
    pub(crate) fn is_filled_by(self, events: &[EventRow]) -> bool {
        events.len() >= self.events_max || events.iter().map(size_bytes).sum::<u64>() >= self.bytes_max
    }

    /// The part that one statement reads.
    pub(crate) fn of_one_statement(self) -> Self {
        let events_max = usize::try_from(EVENTS_PER_READ_MAX).unwrap_or(usize::MAX);
        Self { events_max: self.events_max.min(events_max), ..self }
    }
}
