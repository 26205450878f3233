//! The newest events of a history, within bounds: as many as a caller is likely to need, then as many as it may need.

use std::collections::VecDeque;

use domain::Version;
use read_model::EventRow;
use wire::status::Problem;

use crate::cursor::Cursor;
use crate::event::size_bytes;
use crate::query::Batch;

/// The bounds of [`Newest`].
///
/// An event is in it when fewer than `events_max` events and fewer than `bytes_max` bytes are newer. So its content does not
/// depend on the batches that filled it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowBounds {
    /// Most events.
    pub events_max: usize,
    /// No event is in it that has this many bytes of newer ones.
    pub bytes_max: u64,
}

/// How far back [`Newest`] goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// To the first event of the range.
    Whole,
    /// As far as the bounds allow.
    Bounded,
    /// As far as was read; there may be older events.
    Partial,
}

/// The newest events of a history.
#[derive(Debug)]
pub struct Newest<'s> {
    /// Newest first.
    events: VecDeque<EventRow>,
    bytes: u64,
    bounds: WindowBounds,
    cursor: Cursor<'s>,
    /// Whether an event was dropped for one that was added.
    is_cut: bool,
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
        let mut newest = Self {
            events: VecDeque::new(),
            bytes: 0,
            bounds,
            cursor,
            is_cut: false,
        };
        newest.read_batch(likely.min(bounds.events_max)).await?;
        Ok(newest)
    }

    /// The first batch that [`Newest::read`] asks of its cursor, to be prefetched with the snapshot.
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
        self.read_batch(self.bounds.events_max).await
    }

    async fn read_batch(&mut self, events_max: usize) -> Result<(), Problem> {
        let batch = Batch {
            events_max: events_max.min(self.bounds.events_max.saturating_sub(self.events.len())),
            bytes_max: self.bounds.bytes_max.saturating_sub(self.bytes),
        };
        if self.is_full() {
            return Ok(());
        }
        for event in self.cursor.next(batch).await?.into_iter().flatten() {
            self.bytes = self.bytes.saturating_add(size_bytes(&event.row));
            self.events.push_back(event.row);
        }
        Ok(())
    }

    /// Adds an event newer than all others, as if it were recorded; drops the oldest where the bounds require it.
    pub fn push_newer(&mut self, event: EventRow) {
        self.bytes = self.bytes.saturating_add(size_bytes(&event));
        self.events.push_front(event);
        while let Some(oldest) = self.events.pop_back() {
            let newer_bytes = self.bytes.saturating_sub(size_bytes(&oldest));
            if newer_bytes < self.bounds.bytes_max && self.events.len() < self.bounds.events_max {
                self.events.push_back(oldest);
                return;
            }
            self.bytes = newer_bytes;
            self.is_cut = true;
        }
    }

    /// The cursor that it reads.
    #[must_use]
    pub fn cursor(&self) -> &Cursor<'s> {
        &self.cursor
    }

    /// The events, newest first.
    #[must_use = "an iterator does nothing by itself"]
    pub fn newest_first(&self) -> impl DoubleEndedIterator<Item = &EventRow> {
        self.events.iter()
    }

    /// The number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The version of the oldest event.
    #[must_use]
    pub fn oldest(&self) -> Option<Version> {
        self.events.back().map(|event| event.version)
    }

    /// How far back the events go.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        if self.is_cut {
            Coverage::Bounded
        } else if self.cursor.is_done() {
            Coverage::Whole
        } else if self.is_full() {
            Coverage::Bounded
        } else {
            Coverage::Partial
        }
    }

    fn is_full(&self) -> bool {
        self.is_cut
            || self.bytes >= self.bounds.bytes_max
            || self.events.len() >= self.bounds.events_max
    }
}
