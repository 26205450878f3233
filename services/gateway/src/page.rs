//! A page of events, filled until a bound is met.

use std::ops::ControlFlow;

use domain::Version;
use read_model::EventRow;

use crate::fresh::Place;

/// The bounds of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageBounds {
    /// Most events.
    pub events_max: u32,
    /// Most bytes of events; at least one comes whatever its size.
    pub bytes_max: u64,
}

impl PageBounds {
    /// How many events to ask for, to know whether there are more.
    #[must_use]
    pub fn events_to_read(self) -> u32 {
        self.events_max.saturating_add(1)
    }

    /// The same number, to count what is in memory.
    #[must_use]
    pub fn events_in_memory(self) -> usize {
        usize::try_from(self.events_to_read()).unwrap_or(usize::MAX)
    }

    /// How many bytes to ask for, to know whether there are more: a read ends with the event that reaches this sum.
    #[must_use]
    pub fn bytes_to_read(self) -> u64 {
        self.bytes_max.saturating_add(1)
    }
}

/// A page of a conversation's events.
#[derive(Debug, Default)]
pub struct Page {
    /// The events, in the direction asked for.
    pub events: Vec<EventRow>,
    /// Where the next page begins; `None`: there is none.
    pub next: Option<Cursor>,
    /// Where the conversation stood at the time of the read.
    pub place: Place,
}

/// Where a page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The version of its first event.
    pub version: Version,
    /// A commit before that version, as late as is known: where to read on when only the record holds the rest.
    pub after: Place,
}

/// A page being filled.
#[derive(Debug)]
pub struct Filling {
    page: Page,
    bounds: PageBounds,
    bytes: u64,
}

impl Filling {
    /// An empty page of a conversation that stands at `place`.
    #[must_use]
    pub fn new(bounds: PageBounds, place: Place) -> Self {
        Self {
            page: Page {
                place,
                ..Page::default()
            },
            bounds,
            bytes: 0,
        }
    }

    /// Adds the next event, whose commit comes after the place `after`; breaks when it belongs to the next page.
    pub fn push(&mut self, event: EventRow, after: Place) -> ControlFlow<()> {
        let bytes = self
            .bytes
            .saturating_add(u64::try_from(event.bytes.len()).unwrap_or(u64::MAX));
        let events = self.page.events.len();
        let too_many = u32::try_from(events).is_ok_and(|events| events >= self.bounds.events_max);
        if too_many || (events > 0 && bytes > self.bounds.bytes_max) {
            self.page.next = Some(Cursor {
                version: event.version,
                after,
            });
            return ControlFlow::Break(());
        }
        self.bytes = bytes;
        self.page.events.push(event);
        ControlFlow::Continue(())
    }

    /// The page.
    #[must_use]
    pub fn done(self) -> Page {
        self.page
    }
}
