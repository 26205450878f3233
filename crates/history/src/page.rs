//! A page of events, filled from a cursor until a bound is reached.

use domain::Version;
use read_model::EventRow;
use wire::status::Problem;

use crate::cursor::{Cursor, CursorEvent, View};
use crate::event::size_bytes;
use crate::position::CommitPosition;
use crate::prefetched::Prefetched;
use crate::range::{Bounds, Range};
use crate::snapshot::Snapshot;
use crate::target::{Reader, Target};

/// A page of a conversation's events.
#[derive(Debug, Default)]
pub struct Page {
    /// The events, in the range's direction.
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
    /// The last known commit before that version, for [`Range::after`].
    pub after: CommitPosition,
}

impl Page {
    /// Reads a page of everything that was recorded, from a snapshot of its own.
    ///
    /// # Errors
    /// As [`Snapshot::open`].
    pub async fn recorded(reader: &Reader, target: &Target, range: Range<'_>, bounds: Bounds) -> Result<Self, Problem> {
        let (snapshot, first) = Snapshot::open_with(reader, target, &range, bounds.one_more()).await?;
        let mut cursor = snapshot.cursor_from(range, View::Recorded, first);
        Self::read(&mut cursor, bounds).await
    }

    /// Reads a page of the effective history.
    ///
    /// # Errors
    /// As [`Snapshot::effective`] and [`Cursor::next`].
    pub async fn effective(snapshot: &Snapshot<'_>, range: Range<'_>, bounds: Bounds) -> Result<Self, Problem> {
        let effective = snapshot.effective(snapshot.position().version).await?;
        let mut cursor = snapshot.cursor(range, View::Effective(&effective));
        Self::read(&mut cursor, bounds).await
    }

    /// Reads a page of the effective history whose first events were read with the snapshot, for the same range.
    ///
    /// # Errors
    /// As [`Page::effective`].
    pub async fn effective_from(
        snapshot: &Snapshot<'_>,
        range: Range<'_>,
        bounds: Bounds,
        first: Prefetched,
    ) -> Result<Self, Problem> {
        let effective = snapshot.effective(snapshot.position().version).await?;
        let mut cursor = snapshot.cursor_from(range, View::Effective(&effective), first);
        Self::read(&mut cursor, bounds).await
    }

    /// Reads a page from a cursor.
    ///
    /// # Errors
    /// As [`Cursor::next`].
    pub async fn read(cursor: &mut Cursor<'_>, bounds: Bounds) -> Result<Self, Problem> {
        let mut page = Self { position: cursor.snapshot().position(), ..Self::default() };
        let (mut events, mut bytes) = (0, 0_u64);
        while let Some(batch) = cursor.next(bounds.one_more()).await? {
            for CursorEvent { row, after } in batch {
                bytes = bytes.saturating_add(size_bytes(&row));
                if events >= bounds.events_max || (events > 0 && bytes > bounds.bytes_max) {
                    let version = row.version;
                    page.next = Some(PageStart { version, after });
                    return Ok(page);
                }
                events += 1;
                page.events.push(row);
            }
        }
        Ok(page)
    }
}
