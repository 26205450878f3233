//! The newest events of a history: first as many as a caller probably needs, then up to the bounds.

use domain::Version;
use read_model::EventRow;
use wire::status::Problem;

use crate::cursor::Cursor;
use crate::query::Batch;
use crate::window::{Window, WindowBounds};

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

/// The newest events of a history.
#[derive(Debug)]
pub struct Newest<'s> {
    window: Window,
    cursor: Cursor<'s>,
}

impl<'s> Newest<'s> {
    /// Reads the newest events of a cursor that reads backward, `likely` of them at first.
    ///
    /// # Errors
    /// As [`Cursor::next`].
    pub async fn read(
        cursor: Cursor<'s>,
        bounds: WindowBounds,
        likely: usize,
    ) -> Result<Self, Problem> {
        let window = Window::new(bounds);
        let mut newest = Self { window, cursor };
        newest.read_batch(likely.min(bounds.events_max)).await?;
        Ok(newest)
    }

    /// The first batch of [`Newest::read`], to be prefetched with the snapshot.
    #[must_use]
    pub fn first_batch(bounds: WindowBounds, likely: usize) -> Batch {
        Batch {
            events_max: likely.min(bounds.events_max),
            bytes_max: bounds.bytes_max,
        }
    }

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
        let batch = Batch {
            events_max: events_max.min(remaining.events_max),
            ..remaining
        };
        for event in self.cursor.next(batch).await?.into_iter().flatten() {
            self.window.push_older(event.row);
        }
        Ok(())
    }

    /// Adds an event newer than all others, as if it were recorded. Drops the oldest events if the bounds require it.
    pub fn push_newer(&mut self, event: EventRow) {
        self.window.push_newer(event);
    }

    /// The cursor that it reads.
    #[must_use]
    pub fn cursor(&self) -> &Cursor<'s> {
        &self.cursor
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
