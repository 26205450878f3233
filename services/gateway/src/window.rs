//! The newest events of a conversation, within bounds: what is left of a tail of any length.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use domain::{ConversationKey, RecordedEvent, Version};
use event_log::StoredCommit;
use read_model::EventRow;
use wire::status::Problem;

use crate::problem;

/// The newest events, up to a number and a sum of bytes.
///
/// An event is in it when fewer than `events_max` events and fewer than `bytes_max` bytes are newer. So what is in it does
/// not depend on how it was filled.
#[derive(Debug)]
pub struct Window {
    /// Newest first.
    events: VecDeque<EventRow>,
    bytes: u64,
    bounds: WindowBounds,
    left_out: bool,
}

/// The bounds of a [`Window`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowBounds {
    /// Most events.
    pub events_max: usize,
    /// No event is in it that has this many bytes of newer ones.
    pub bytes_max: u64,
}

impl Window {
    /// An empty window.
    #[must_use]
    pub fn new(bounds: WindowBounds) -> Self {
        Self {
            events: VecDeque::new(),
            bytes: 0,
            bounds,
            left_out: false,
        }
    }

    /// Adds an event newer than all in it; the oldest go when the bounds ask for it.
    pub fn push_newer(&mut self, event: EventRow) {
        self.bytes += size(&event);
        self.events.push_front(event);
        while let Some(oldest) = self.events.pop_back() {
            let newer_bytes = self.bytes - size(&oldest);
            if newer_bytes < self.bounds.bytes_max && self.events.len() < self.bounds.events_max {
                self.events.push_back(oldest);
                return;
            }
            self.bytes = newer_bytes;
            self.left_out = true;
        }
    }

    /// Adds an event older than all in it; breaks when there is no room for it, or any older one.
    pub fn push_older(&mut self, event: EventRow) -> ControlFlow<()> {
        if self.is_full() {
            self.left_out = true;
            return ControlFlow::Break(());
        }
        self.bytes += size(&event);
        self.events.push_back(event);
        ControlFlow::Continue(())
    }

    /// Takes no more: something older has no room.
    pub fn leave_out(&mut self) {
        self.left_out = true;
    }

    /// Whether no older event has room.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.left_out
            || self.bytes >= self.bounds.bytes_max
            || self.events.len() >= self.bounds.events_max
    }

    /// Whether an event was left out for the bounds.
    #[must_use]
    pub fn has_left_out(&self) -> bool {
        self.left_out
    }

    /// How many events are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether none is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The version of the oldest event in it.
    #[must_use]
    pub fn oldest(&self) -> Option<Version> {
        self.events.back().map(|event| event.version)
    }

    /// The events, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &EventRow> {
        self.events.iter()
    }

    /// The events, newest first.
    pub fn into_newest_first(self) -> impl Iterator<Item = EventRow> {
        self.events.into_iter()
    }
}

/// The events of a commit, as their rows will be.
pub fn event_rows(commit: &StoredCommit) -> impl Iterator<Item = EventRow> {
    let (opened, head) = (&commit.opened, &commit.opened.commit);
    let bytes = opened.event_bytes.iter().enumerate();
    bytes.map(|(index, bytes)| EventRow {
        version: head.first_version.plus(index),
        commit: head.id,
        recorded_at: head.recorded_at,
        bytes: bytes.clone(),
    })
}

/// An event as the domain keeps it.
///
/// # Errors
/// Its bytes are not an event's.
pub fn recorded(key: &ConversationKey, row: &EventRow) -> Result<RecordedEvent, Problem> {
    let event = wire::commit::decode_event(row.bytes.clone()).map_err(|corrupt| {
        problem::of_contradiction(format!(
            "event {} of conversation {} is corrupt: {corrupt}",
            row.version, key.conversation
        ))
    })?;
    Ok(RecordedEvent {
        version: row.version,
        commit: row.commit,
        recorded_at: row.recorded_at,
        event,
    })
}

/// The bytes of all events together.
#[must_use]
pub fn sum_of_bytes(events: &[EventRow]) -> u64 {
    events.iter().map(size).sum()
}

fn size(event: &EventRow) -> u64 {
    u64::try_from(event.bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use domain::{CommitId, Timestamp};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_is_in_it_does_not_depend_on_how_it_was_filled() {
        check(&[1, 1, 1], 3, 9, &[3, 2, 1], false);
        check(&[1, 1, 1], 2, 9, &[3, 2], true);
        check(&[1, 4, 4], 9, 8, &[3, 2], true);
        check(&[1, 4, 4], 9, 9, &[3, 2, 1], false);
        check(&[1, 1, 99], 9, 8, &[3], true);
        check(&[], 9, 8, &[], false);
    }

    /// Events of these sizes have the versions 1, 2, 3 …
    fn check(sizes: &[usize], events_max: usize, bytes_max: u64, expected: &[u64], left_out: bool) {
        for from_rows in 0..=sizes.len() {
            let events: Vec<EventRow> = (1..).zip(sizes).map(|(v, size)| event(v, *size)).collect();
            let (rows, tail) = events.split_at(from_rows);
            let mut window = Window::new(WindowBounds {
                events_max,
                bytes_max,
            });
            for event in tail {
                window.push_newer(event.clone());
            }
            for event in rows.iter().rev() {
                if window.push_older(event.clone()).is_break() {
                    break;
                }
            }
            assert_eq!(window.has_left_out(), left_out, "{sizes:?}");
            let versions: Vec<u64> = window
                .into_newest_first()
                .map(|event| event.version.0)
                .collect();
            assert_eq!(versions, expected, "{sizes:?}, {from_rows} from rows");
        }
    }

    fn event(version: u64, size: usize) -> EventRow {
        EventRow {
            version: Version(version),
            commit: CommitId(Uuid::nil()),
            recorded_at: Timestamp(0),
            bytes: Bytes::from(vec![0; size]),
        }
    }
}
