//! A cursor over a snapshot: reads events of a range in one direction, batch by batch, from rows and record.

mod backward;
mod forward;

use domain::{RecordedEvent, Segment, Segments, Status, Version};
use event_log::StoredCommit;
use futures::future::BoxFuture;
use read_model::EventRow;
use read_model::queries::{Direction, EventQuery};
use wire::status::Problem;

use crate::conversation_read::rows;
use crate::event::{decode, event_rows, size_bytes};
use crate::position::CommitPosition;
use crate::prefetched::Prefetched;
use crate::problem;
use crate::range::{Bounds, Range, RowQuery};
use crate::snapshot::Snapshot;
use crate::target::{Reader, Target};

/// Which events of a snapshot a cursor returns.
#[derive(Debug, Clone, Copy)]
pub enum View<'s> {
    /// Everything that was recorded.
    Recorded,
    /// The effective history, see [`Snapshot::effective`].
    Effective(&'s Segments),
}

/// An event that a cursor returns.
#[derive(Debug, Clone)]
pub struct CursorEvent {
    /// The event.
    pub row: EventRow,
    /// The commit before the event's commit, if known: a later read can start there.
    pub after: CommitPosition,
}

impl CursorEvent {
    fn of(row: EventRow) -> Self {
        Self { row, after: CommitPosition::default() }
    }
}

struct BatchBuilder {
    events: Vec<CursorEvent>,
    bytes: u64,
    batch: Bounds,
}

impl BatchBuilder {
    fn new(batch: Bounds) -> Self {
        Self { events: Vec::new(), bytes: 0, batch }
    }

    fn push(&mut self, event: CursorEvent) {
        self.bytes = self.bytes.saturating_add(size_bytes(&event.row));
        self.events.push(event);
    }

    fn extend(&mut self, rows: Vec<EventRow>) {
        self.events.reserve(rows.len());
        for row in rows {
            self.push(CursorEvent::of(row));
        }
    }

    fn is_full(&self) -> bool {
        self.events.len() >= self.batch.events_max || self.bytes >= self.batch.bytes_max
    }

    /// The remaining bounds of the batch.
    fn remaining(&self) -> Bounds {
        Bounds {
            events_max: self.batch.events_max.saturating_sub(self.events.len()),
            bytes_max: self.batch.bytes_max.saturating_sub(self.bytes),
        }
    }

    fn last(&self) -> Option<Version> {
        self.events.last().map(|event| event.row.version)
    }
}

/// Which rows were read, in the direction of the range.
enum RowsRead {
    /// All rows of the conversation itself.
    Own,
    /// Those up to this version.
    Through(Version),
}

/// A cursor over a snapshot.
#[derive(Debug)]
pub struct Cursor<'s> {
    snapshot: &'s Snapshot<'s>,
    range: Range<'s>,
    segments: &'s Segments,
    prefetched: Option<Prefetched>,
    /// The next version to read; `None`: the range is complete.
    next: Option<Version>,
}

impl<'s> Cursor<'s> {
    pub(crate) fn new(
        snapshot: &'s Snapshot<'s>,
        range: Range<'s>,
        view: View<'s>,
        prefetched: Option<Prefetched>,
    ) -> Self {
        let segments = match view {
            View::Recorded => &snapshot.recorded,
            View::Effective(segments) => segments,
        };
        let next = match range.direction {
            Direction::Forward => range.from,
            Direction::Backward => range.to,
        };
        Self { snapshot, range, segments, prefetched, next: (range.from <= range.to).then_some(next) }
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

    /// The next events of the range; `None`: the end. An incomplete batch is the last one.
    ///
    /// # Errors
    /// A dependency does not answer, a commit cannot be decoded, or the conversation was erased concurrently.
    pub fn next(&mut self, batch: Bounds) -> BoxFuture<'_, Result<Option<Vec<CursorEvent>>, Problem>> {
        Box::pin(async move {
            if self.is_done() {
                return Ok(None);
            }
            let mut batch_builder = BatchBuilder::new(batch);
            match self.range.direction {
                Direction::Forward => self.forward(&mut batch_builder).await?,
                Direction::Backward => self.backward(&mut batch_builder).await?,
            }
            Ok((!batch_builder.events.is_empty()).then_some(batch_builder.events))
        })
    }

    /// Whether the range is complete.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let Some(next) = self.next else {
            return true;
        };
        let (from, to) = match self.range.direction {
            Direction::Forward => (next, self.range.to),
            Direction::Backward => (self.range.from, next),
        };
        self.segments.within(from, to).next().is_none()
    }

    /// The events of a commit that are part of the range, oldest first. `ancestor` recorded the commit.
    fn events_of(&self, commit: &StoredCommit, ancestor: usize) -> impl Iterator<Item = EventRow> + use<> {
        let facts = commit.opened.commit.events.iter();
        let kinds = facts.map(|event| event.fact.kind());
        let inside: Vec<EventRow> = event_rows(commit)
            .zip(kinds)
            .filter(|(event, kind)| {
                (self.range.from..=self.range.to).contains(&event.version)
                    && (self.range.kinds.is_empty() || self.range.kinds.contains(kind))
                    && self.segments.ancestor_of(event.version) == Some(ancestor)
            })
            .map(|(event, _)| event)
            .collect();
        inside.into_iter()
    }

    /// Adds the prefetched rows that are part of the history, as many as fit. `None`: none of the conversation that recorded
    /// the segment were prefetched.
    fn take_prefetched(&mut self, ancestor: usize, batch_builder: &mut BatchBuilder) -> Option<RowsRead> {
        let is_prefetched = |first: &mut Prefetched| ancestor == 0 || first.has_inherited;
        let first = self.prefetched.take_if(is_prefetched)?;
        let events = first.events.into_iter();
        for event in events.filter(|event| self.segments.contains(event.version)) {
            if batch_builder.is_full() {
                return batch_builder.last().map(RowsRead::Through);
            }
            batch_builder.push(CursorEvent::of(event));
        }
        Some(first.through.map_or(RowsRead::Own, RowsRead::Through))
    }

    /// Reads the events of one segment from the rows, in the direction of the range.
    async fn rows_of(&self, segment: Segment, batch: Bounds) -> Result<Vec<EventRow>, Problem> {
        let target = self.snapshot.source_target(segment.ancestor);
        let query = EventQuery { from: segment.first, to: segment.last, ..self.range.to_event_query(batch) };
        let found = target.deadline.rows(rows(&self.snapshot.reader, target, RowQuery::Events(&query))).await?;
        let row = found.head_row.as_ref();
        row.filter(|row| row.head.status != Status::Erased).ok_or_else(problem::not_found)?;
        Ok(found.events)
    }
}

impl Snapshot<'_> {
    /// A cursor over the snapshot.
    #[must_use]
    pub fn cursor<'s>(&'s self, range: Range<'s>, view: View<'s>) -> Cursor<'s> {
        Cursor::new(self, range, view, None)
    }

    /// A cursor whose first events were read with the snapshot, for the same range.
    #[must_use]
    pub fn cursor_from<'s>(&'s self, range: Range<'s>, view: View<'s>, first: Prefetched) -> Cursor<'s> {
        Cursor::new(self, range, view, Some(first))
    }

    /// The newest recorded event of a range, from a snapshot of its own. Reads no other event.
    ///
    /// # Errors
    /// As [`Snapshot::open`], or the event cannot be decoded.
    pub async fn newest_recorded(
        reader: &Reader,
        target: &Target,
        range: Range<'_>,
    ) -> Result<Option<RecordedEvent>, Problem> {
        let (snapshot, first) = Snapshot::open_with(reader, target, &range, Bounds::ONE).await?;
        let mut cursor = snapshot.cursor_from(range, View::Recorded, first);
        snapshot.first_of(&mut cursor).await
    }

    async fn first_of(&self, cursor: &mut Cursor<'_>) -> Result<Option<RecordedEvent>, Problem> {
        let found = cursor.next(Bounds::ONE).await?;
        let row = found.and_then(|batch| batch.into_iter().next());
        row.map(|event| decode(&self.target.key, &event.row)).transpose()
    }

    /// The newest event of a range. Reads no other event.
    ///
    /// # Errors
    /// A dependency does not answer, or the event cannot be decoded.
    pub async fn newest(&self, range: Range<'_>, view: View<'_>) -> Result<Option<RecordedEvent>, Problem> {
        self.first_of(&mut self.cursor(range, view)).await
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
