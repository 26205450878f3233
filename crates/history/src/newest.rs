//! The newest events of a history: first as many as a caller probably needs, then up to the bounds.

use domain::{Segments, Version};
use read_model::EventRow;
use wire::status::Problem;

use crate::cursor::{Cursor, View};
use crate::prefetched::Prefetched;
use crate::range::{Bounds, Range};
use crate::snapshot::Snapshot;
use crate::target::{Reader, Target};
use crate::window::Window;

/// How far back [`Newest`] goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// To the first event of the range.
    Whole,
    /// As far as the bounds allow.
    Bounded,
    /// As far as it was read; there may be older events.
    Partial,
}

/// The effective history of a conversation up to the last version of a range. Its newest events are read with the snapshot.
#[derive(Debug)]
pub struct EffectiveHistory<'a> {
    snapshot: Snapshot<'a>,
    segments: Segments,
    range: Range<'a>,
    bounds: Bounds,
    likely: Bounds,
    first: Option<Prefetched>,
}

impl<'a> EffectiveHistory<'a> {
    /// Opens a snapshot for a range that reads backward within bounds, `likely` events at first.
    ///
    /// # Errors
    /// As [`Snapshot::open`] and [`Snapshot::effective`].
    pub async fn open(
        reader: &Reader,
        target: &'a Target,
        range: Range<'a>,
        bounds: Bounds,
        likely: usize,
    ) -> Result<Self, Problem> {
        let likely = Bounds { events_max: likely.min(bounds.events_max), bytes_max: bounds.bytes_max };
        let (snapshot, first) = Snapshot::open_with(reader, target, &range, likely).await?;
        Ok(Self { segments: snapshot.effective(range.to).await?, snapshot, range, bounds, likely, first: Some(first) })
    }

    /// The newest events, as many as are likely needed.
    ///
    /// # Errors
    /// As [`Cursor::next`].
    pub async fn newest(&mut self) -> Result<Newest<'_>, Problem> {
        let (view, first) = (View::Effective(&self.segments), self.first.take());
        let mut newest =
            Newest { window: Window::new(self.bounds), cursor: Cursor::new(&self.snapshot, self.range, view, first) };
        newest.read_batch(self.likely.events_max).await?;
        Ok(newest)
    }
}

/// The newest events of a history.
#[derive(Debug)]
pub struct Newest<'s> {
    window: Window,
    cursor: Cursor<'s>,
}

impl<'s> Newest<'s> {
    /// Reads older events, as many as the bounds allow.
    ///
    /// # Errors
    /// As [`Cursor::next`].
    pub async fn read_older(&mut self) -> Result<(), Problem> {
        self.read_batch(self.window.bounds.events_max).await
    }

    async fn read_batch(&mut self, events_max: usize) -> Result<(), Problem> {
        if self.window.is_full() {
            return Ok(());
        }
        let remaining = self.window.remaining();
        let batch = Bounds { events_max: events_max.min(remaining.events_max), ..remaining };
        for event in self.cursor.next(batch).await?.into_iter().flatten() {
            self.window.push_older(event.row);
        }
        Ok(())
    }

    /// Adds an event newer than all others, as if it were recorded. Drops the oldest events if the bounds require it.
    pub fn push_newer(&mut self, event: EventRow) {
        self.window.push_newer(event);
    }

    /// The snapshot that it reads.
    #[must_use]
    pub fn snapshot(&self) -> &'s Snapshot<'s> {
        self.cursor.snapshot()
    }

    /// The segments of the history.
    #[must_use]
    pub fn segments(&self) -> &'s Segments {
        self.cursor.segments()
    }

    /// The events, newest first.
    #[must_use = "an iterator does nothing by itself"]
    pub fn newest_first(&self) -> impl DoubleEndedIterator<Item = &EventRow> {
        self.window.events.iter()
    }

    /// The number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.window.events.len()
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.window.events.is_empty()
    }

    /// The version of the oldest event.
    #[must_use]
    pub fn oldest(&self) -> Option<Version> {
        self.window.events.back().map(|event| event.version)
    }

    /// How far back the events go.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        if self.window.is_cut {
            Coverage::Bounded
        } else if self.cursor.is_done() {
            Coverage::Whole
        } else if self.window.is_full() {
            Coverage::Bounded
        } else {
            Coverage::Partial
        }
    }
}
