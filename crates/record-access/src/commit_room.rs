//! What one commit has room for, and the commits that more events need.

use domain::bounds::EVENTS_PER_COMMIT_MAX;

use crate::Gateway;

/// The events of a commit may fill a message of the record divided by this. The head and the ids and token counts of each
/// event need the rest.
const COMMIT_DIVISOR: usize = 2;

/// The room that a commit has left.
#[derive(Debug, Clone, Copy)]
pub struct CommitRoom {
    events: usize,
    bytes: usize,
    is_empty: bool,
}

impl Default for CommitRoom {
    /// The room of a commit whose size is bounded by its number of events alone.
    fn default() -> Self {
        Self { events: EVENTS_PER_COMMIT_MAX, bytes: usize::MAX, is_empty: true }
    }
}

impl CommitRoom {
    /// The room of a commit of the record.
    #[must_use]
    pub fn of_record(gateway: &Gateway) -> Self {
        Self::default().with_bytes(gateway.reader.record.payload_bytes_max() / COMMIT_DIVISOR)
    }

    /// Room for at most so many events.
    #[must_use]
    pub const fn with_events(self, events: usize) -> Self {
        Self { events, ..self }
    }

    /// Room for at most so many bytes.
    #[must_use]
    pub const fn with_bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    /// Takes the room of an event of this size. Returns whether there was room; an event that no commit has room for gets a
    /// commit of its own.
    #[must_use]
    pub fn take(&mut self, bytes: usize) -> bool {
        let fits = self.events > 0 && (self.is_empty || bytes <= self.bytes);
        if fits {
            *self = Self { events: self.events - 1, bytes: self.bytes.saturating_sub(bytes), is_empty: false };
        }
        fits
    }

    /// The number of first sizes that it has room for.
    pub fn count(mut self, sizes: impl IntoIterator<Item = usize>) -> usize {
        sizes.into_iter().take_while(|size| self.take(*size)).count()
    }
}

/// The commits of these events, in order; each has at least one. `first`: the room of the first one.
pub fn split<T>(events: Vec<T>, first: CommitRoom, further: CommitRoom, size: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let mut commits: Vec<Vec<T>> = Vec::new();
    let mut room = first;
    for event in events {
        let size = size(&event);
        match commits.last_mut() {
            Some(commit) if room.take(size) => commit.push(event),
            last => {
                room = if last.is_none() { first } else { further };
                // An empty commit takes every event.
                let _ = room.take(size);
                commits.push(vec![event]);
            }
        }
    }
    commits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_bounded_by_events_and_bytes() {
        let check = |sizes: &[usize], (first, further): (usize, usize), bytes_max: usize, expected: &[usize]| {
            let room = |events| CommitRoom::default().with_events(events).with_bytes(bytes_max);
            let commits = split(sizes.to_vec(), room(first), room(further), |size| *size);
            let lengths: Vec<_> = commits.iter().map(Vec::len).collect();
            assert_eq!(lengths, expected);
            assert_eq!(commits.concat(), sizes);
        };
        let wide = (EVENTS_PER_COMMIT_MAX, EVENTS_PER_COMMIT_MAX);
        check(&[], wide, 1_000, &[]);
        check(&[200], wide, 100, &[1]);
        check(&[200, 200, 201], wide, 400, &[2, 1]);
        check(&[200, 200, 200], wide, 399, &[1, 1, 1]);
        check(&[150, 500, 150], wide, 400, &[1, 1, 1]);
        let many = [150; EVENTS_PER_COMMIT_MAX + 1];
        check(&many[1..], wide, usize::MAX, &[EVENTS_PER_COMMIT_MAX]);
        check(&many, wide, usize::MAX, &[EVENTS_PER_COMMIT_MAX, 1]);
        check(&[1; 7], (2, 3), usize::MAX, &[2, 3, 2]);
    }

    #[test]
    fn the_end_that_a_commit_has_room_for() {
        let room = CommitRoom::default().with_events(3).with_bytes(10);
        let check = |sizes: &[usize], expected: usize| assert_eq!(room.count(sizes.iter().copied()), expected);
        check(&[], 0);
        check(&[5, 5, 1], 2);
        check(&[1, 1, 1, 1], 3);
        check(&[11, 1], 1);
    }
}
