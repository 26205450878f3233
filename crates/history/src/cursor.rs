//! A cursor over a snapshot: events of a range in one direction, batch by batch, from rows and record.

mod backward;
mod forward;

use domain::{EventKind, Segment, Segments, Status, Version};
use event_log::StoredCommit;
use read_model::EventRow;
pub use read_model::queries::Direction;
use read_model::queries::{EVENTS_PER_READ_MAX, EventQuery};
use wire::status::Problem;

use crate::conversation_read::{RowQuery, rows};
use crate::event::{event_rows, size_bytes};
use crate::position::CommitPosition;
use crate::problem;
use crate::snapshot::{Prefetched, Snapshot};

/// Which events to read.
#[derive(Debug, Clone, Copy)]
pub struct Query<'q> {
    /// The first version.
    pub from: Version,
    /// The last version; [`EventQuery::TO_THE_END`] for all.
    pub to: Version,
    /// Only events of these kinds; empty: all.
    pub kinds: &'q [EventKind],
    /// Oldest or newest first.
    pub direction: Direction,
    /// A commit before the first version, as late as is known: a long tail is read from there on. For reads forward.
    pub after: CommitPosition,
}

impl Query<'static> {
    /// All events.
    #[must_use]
    pub fn all(direction: Direction) -> Self {
        Self {
            from: Version::ZERO.next(),
            to: EventQuery::TO_THE_END,
            kinds: &[],
            direction,
            after: CommitPosition::default(),
        }
    }
}

impl Query<'_> {
    /// The part of the query that the statement of the snapshot reads: the conversation's own rows.
    pub(crate) fn of_rows(&self, batch: Batch) -> EventQuery {
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

/// Which events of a snapshot a cursor returns.
#[derive(Debug, Clone, Copy)]
pub enum View<'s> {
    /// Everything that was recorded.
    Recorded,
    /// The effective history, see [`Snapshot::effective`].
    Effective(&'s Segments),
}

/// How much to read at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// Most events.
    pub events_max: usize,
    /// A batch ends with the event that brings the sum of bytes to this or past it.
    pub bytes_max: u64,
}

impl Batch {
    /// One event, whatever its size.
    pub const ONE: Self = Self {
        events_max: 1,
        bytes_max: 1,
    };

    fn is_full(self, events: &[CursorEvent]) -> bool {
        events.len() >= self.events_max || self.bytes_max <= sum_of_bytes(events)
    }

    /// As much of it as one statement reads.
    pub(crate) fn of_one_statement(self) -> Self {
        let events_max = usize::try_from(EVENTS_PER_READ_MAX).unwrap_or(usize::MAX);
        Self {
            events_max: self.events_max.min(events_max),
            ..self
        }
    }

    /// What is left of it after some events.
    fn less(self, events: &[CursorEvent]) -> Self {
        Self {
            events_max: self.events_max.saturating_sub(events.len()),
            bytes_max: self.bytes_max.saturating_sub(sum_of_bytes(events)),
        }
    }
}

fn sum_of_bytes(events: &[CursorEvent]) -> u64 {
    events.iter().map(|event| size_bytes(&event.row)).sum()
}

/// An event that a cursor returns.
#[derive(Debug, Clone)]
pub struct CursorEvent {
    /// The event.
    pub row: EventRow,
    /// A commit before the event's own, where that is known: what follows can be read from there on.
    pub after: CommitPosition,
}

impl CursorEvent {
    fn of(row: EventRow) -> Self {
        Self {
            row,
            after: CommitPosition::default(),
        }
    }
}

/// A cursor over a snapshot.
#[derive(Debug)]
pub struct Cursor<'s> {
    snapshot: &'s Snapshot<'s>,
    query: Query<'s>,
    segments: &'s Segments,
    prefetched: Option<Prefetched>,
    /// The version to go on from, itself not returned yet; `None`: the range is read to its end.
    next: Option<Version>,
}

impl<'s> Cursor<'s> {
    pub(crate) fn new(
        snapshot: &'s Snapshot<'s>,
        query: Query<'s>,
        view: View<'s>,
        prefetched: Option<Prefetched>,
    ) -> Self {
        let segments = match view {
            View::Recorded => &snapshot.recorded,
            View::Effective(segments) => segments,
        };
        let next = match query.direction {
            Direction::Forward => query.from,
            Direction::Backward => query.to,
        };
        Self {
            snapshot,
            query,
            segments,
            prefetched,
            next: (query.from <= query.to).then_some(next),
        }
    }

    /// The snapshot that it reads.
    #[must_use]
    pub fn snapshot(&self) -> &'s Snapshot<'s> {
        self.snapshot
    }

    /// The segments that it reads.
    #[must_use]
    pub fn segments(&self) -> &'s Segments {
        self.segments
    }

    /// The next events of the range; `None`: there are no more. A batch that is not full is the last one.
    ///
    /// # Errors
    /// A dependency does not answer, a commit cannot be decoded, or the conversation was erased meanwhile.
    pub async fn next(&mut self, batch: Batch) -> Result<Option<Vec<CursorEvent>>, Problem> {
        if self.is_done() {
            return Ok(None);
        }
        let events = match self.query.direction {
            Direction::Forward => self.forward(batch).await?,
            Direction::Backward => self.backward(batch).await?,
        };
        Ok((!events.is_empty()).then_some(events))
    }

    /// Whether the range was read to its end.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let Some(next) = self.next else {
            return true;
        };
        let (from, to) = match self.query.direction {
            Direction::Forward => (next, self.query.to),
            Direction::Backward => (self.query.from, next),
        };
        self.segments.within(from, to).next().is_none()
    }

    /// The events of a commit that are part of the range, oldest first. `ancestor` recorded the commit.
    fn events_of(
        &self,
        commit: &StoredCommit,
        ancestor: usize,
    ) -> impl Iterator<Item = EventRow> + use<> {
        let facts = commit.opened.commit.events.iter();
        let kinds = facts.map(|event| event.fact.kind());
        let inside = event_rows(commit).zip(kinds).filter(|(event, kind)| {
            (self.query.from..=self.query.to).contains(&event.version)
                && (self.query.kinds.is_empty() || self.query.kinds.contains(kind))
                && self.segments.ancestor_of(event.version) == Some(ancestor)
        });
        let inside: Vec<EventRow> = inside.map(|(event, _)| event).collect();
        inside.into_iter()
    }

    /// The prefetched rows that are part of the history, as many as fit, and the version to go on behind; `None` for that: the
    /// rows hold no more.
    fn take_prefetched(
        &mut self,
        ancestor: usize,
        batch: Batch,
    ) -> Option<(Vec<CursorEvent>, Option<Version>)> {
        if ancestor > 0 {
            return None;
        }
        let first = self.prefetched.take()?;
        let bytes: u64 = first.events.iter().map(size_bytes).sum();
        let is_all = first.events.len() < first.batch.events_max && bytes < first.batch.bytes_max;
        let mut last = first.events.last().map(|event| event.version);
        last = last.filter(|_| !is_all);
        let mut found = Vec::with_capacity(first.events.len());
        for event in first.events {
            if batch.is_full(&found) {
                last = found.last().map(|event: &CursorEvent| event.row.version);
                break;
            }
            if self.segments.contains(event.version) {
                found.push(CursorEvent::of(event));
            }
        }
        Some((found, last))
    }

    /// The events of one segment that the rows hold, in the query's direction.
    async fn rows_of(&self, segment: Segment, batch: Batch) -> Result<Vec<CursorEvent>, Problem> {
        let target = self.snapshot.source_target(segment.ancestor);
        let query = EventQuery {
            from: segment.first,
            to: segment.last,
            ..self.query.of_rows(batch)
        };
        let found = rows(self.snapshot.reader, target, RowQuery::Events(&query));
        let found = target.deadline.rows(found).await?;
        let row = found.standing.as_ref();
        row.filter(|row| row.head.status != Status::Erased)
            .ok_or_else(problem::not_found)?;
        Ok(found.events.into_iter().map(CursorEvent::of).collect())
    }
}

/// The version after this one; `None`: there is none.
fn after(version: Version) -> Option<Version> {
    version.0.checked_add(1).map(Version)
}

/// The version before this one; `None`: there is none.
fn before(version: Version) -> Option<Version> {
    Some(Version(version.0.saturating_sub(1))).filter(|version| *version > Version::ZERO)
}
