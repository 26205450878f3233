//! A bounded window of the newest events.

use std::collections::VecDeque;

use read_model::EventRow;

use crate::event::size_bytes;
use crate::range::Bounds;

/// The newest events of a history or of a tail.
///
/// It contains an event if fewer events and fewer bytes than its bounds are newer. So its content does not depend on the batches that
/// filled it.
#[derive(Debug)]
pub(crate) struct Window {
    /// Newest first.
    pub(crate) events: VecDeque<EventRow>,
    bytes: u64,
    pub(crate) bounds: Bounds,
    /// Whether an older event was dropped.
    pub(crate) is_cut: bool,
}

impl Window {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { events: VecDeque::new(), bytes: 0, bounds, is_cut: false }
    }

    /// Adds an event older than all others, within [`Window::remaining`].
    pub(crate) fn push_older(&mut self, event: EventRow) {
        self.bytes = self.bytes.saturating_add(size_bytes(&event));
        self.events.push_back(event);
    }

    /// Adds an event newer than all others. Drops the oldest events if the bounds require it.
    pub(crate) fn push_newer(&mut self, event: EventRow) {
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

    /// The bounds of further, older events.
    pub(crate) fn remaining(&self) -> Bounds {
        Bounds {
            events_max: self.bounds.events_max.saturating_sub(self.events.len()),
            bytes_max: self.bounds.bytes_max.saturating_sub(self.bytes),
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        let remaining = self.remaining();
        self.is_cut || remaining.bytes_max == 0 || remaining.events_max == 0
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use domain::{CommitId, Timestamp, Version};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_newest_events_stay_within_the_bounds() {
        check(&[1, 1, 1], (3, 9), &[3, 2, 1], false);
        check(&[1, 1, 1], (2, 9), &[3, 2], true);
        check(&[1, 4, 4], (9, 8), &[3, 2], true);
        check(&[1, 4, 4], (9, 9), &[3, 2, 1], false);
        check(&[1, 1, 99], (9, 8), &[3], true);
        check(&[], (9, 8), &[], false);
    }

    /// Events of these sizes have the versions 1, 2, 3 …
    fn check(sizes: &[usize], bounds: (usize, u64), expected: &[u64], is_cut: bool) {
        let (events_max, bytes_max) = bounds;
        let mut window = Window::new(Bounds { events_max, bytes_max });
        for (version, size) in (1..).zip(sizes) {
            window.push_newer(EventRow {
                version: Version(version),
                commit: CommitId(Uuid::nil()),
                recorded_at: Timestamp(0),
                bytes: Bytes::from(vec![0; *size]),
            });
        }
        let versions = window.events.iter().map(|event| event.version.0);
        assert_eq!(versions.collect::<Vec<_>>(), expected, "{sizes:?}");
        assert_eq!(window.is_cut, is_cut, "{sizes:?}");
    }
}
