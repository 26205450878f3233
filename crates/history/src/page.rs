//! A page of events, filled from a cursor until a bound is reached.

use std::ops::ControlFlow;

use domain::Version;
use read_model::EventRow;
use wire::status::Problem;

use crate::cursor::{Cursor, CursorEvent, View};
use crate::event::size_bytes;
use crate::position::CommitPosition;
use crate::query::{Batch, Query};
use crate::reader::Reader;
use crate::snapshot::Snapshot;
use crate::target::Target;

/// The bounds of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageBounds {
    /// Maximum number of events.
    pub events_max: u32,
    /// Maximum bytes of events; at least one event is returned, regardless of its size.
    pub bytes_max: u64,
}

impl PageBounds {
    /// The batch to read: one event more, to detect a next page.
    fn batch(self) -> Batch {
        let events_max = self.events_max.saturating_add(1);
        Batch {
            events_max: usize::try_from(events_max).unwrap_or(usize::MAX),
            bytes_max: self.bytes_max.saturating_add(1),
        }
    }
}

/// A page of a conversation's events.
#[derive(Debug, Default)]
pub struct Page {
    /// The events, in the query's direction.
    pub events: Vec<EventRow>,
    /// Where the next page starts; `None`: there is none.
    pub next: Option<PageStart>,
    /// The position of the snapshot that was read.
    pub position: CommitPosition,
}

/// Where a page starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageStart {
    /// The version of its first event.
    pub version: Version,
    /// The last known commit before that version, for [`Query::after`].
    pub after: CommitPosition,
}

impl Page {
    /// Reads a page of everything that was recorded, from a snapshot of its own.
    ///
    /// # Errors
    /// As [`Snapshot::open`].
    pub async fn recorded(
        reader: &Reader,
        target: &Target,
        query: Query<'_>,
        bounds: PageBounds,
    ) -> Result<Self, Problem> {
        let opened = Snapshot::open_with(reader, target, &query, bounds.batch());
        let (snapshot, first) = opened.await?;
        let mut cursor = snapshot.cursor_from(query, View::Recorded, first);
        Self::read(&mut cursor, bounds).await
    }

    /// Reads a page from a cursor.
    ///
    /// # Errors
    /// As [`Cursor::next`].
    pub async fn read(cursor: &mut Cursor<'_>, bounds: PageBounds) -> Result<Self, Problem> {
        let mut builder = PageBuilder {
            page: Self {
                position: cursor.snapshot().position(),
                ..Self::default()
            },
            bounds,
            bytes: 0,
        };
        while let Some(batch) = cursor.next(bounds.batch()).await? {
            for event in batch {
                if builder.push(event).is_break() {
                    return Ok(builder.page);
                }
            }
        }
        Ok(builder.page)
    }
}

/// A page being filled.
struct PageBuilder {
    page: Page,
    bounds: PageBounds,
    bytes: u64,
}

impl PageBuilder {
    /// Adds the next event; breaks if it belongs to the next page.
    fn push(&mut self, event: CursorEvent) -> ControlFlow<()> {
        let CursorEvent { row, after } = event;
        let bytes = self.bytes.saturating_add(size_bytes(&row));
        let events = self.page.events.len();
        let too_many = u32::try_from(events).is_ok_and(|events| events >= self.bounds.events_max);
        if too_many || (events > 0 && bytes > self.bounds.bytes_max) {
            let version = row.version;
            self.page.next = Some(PageStart { version, after });
            return ControlFlow::Break(());
        }
        self.bytes = bytes;
        self.page.events.push(row);
        ControlFlow::Continue(())
    }
}
