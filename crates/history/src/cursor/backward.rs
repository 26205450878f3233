//! Reads backward: of each conversation the commits that its rows do not hold, then its rows.

use std::collections::VecDeque;

use domain::{Segment, Version};
use read_model::EventRow;
use read_model::queries::{self, EventRange, RangesQuery, is_rare};
use wire::status::Problem;

use super::{Cursor, Filling, RowsRead, before, fills};
use crate::event::size_bytes;
use crate::position::CommitPosition;
use crate::problem;
use crate::query::Batch;

/// Most segments that one statement reads.
const SEGMENTS_PER_READ_MAX: usize = 64;

impl Cursor<'_> {
    /// Reads backward until the batch is full or the range ends.
    pub(super) async fn backward(&mut self, filling: &mut Filling) -> Result<(), Problem> {
        while let Some(next) = self.next.filter(|_| !filling.is_full()) {
            let Some(segment) = self.segments.within(self.query.from, next).next_back() else {
                self.next = None;
                break;
            };
            if self.is_in_tail(segment) {
                self.backward_in_tail(segment, filling).await?;
            } else {
                self.backward_in_rows(next, segment, filling).await?;
            }
        }
        Ok(())
    }

    /// Whether a segment ends in commits that the rows do not hold.
    fn is_in_tail(&self, segment: Segment) -> bool {
        let source = self.snapshot.source(segment.ancestor);
        segment.last > source.row_position().version && !source.is_in_rows()
    }

    /// Reads what the rows of a conversation do not hold: all segments in one pass over its commits.
    async fn backward_in_tail(
        &mut self,
        segment: Segment,
        filling: &mut Filling,
    ) -> Result<(), Problem> {
        let snapshot = self.snapshot;
        let source = snapshot.source(segment.ancestor);
        let target = snapshot.source_target(segment.ancestor);
        let mut newest = Window::new(filling.left());
        if let Some(mut tail) = source.tail(target, CommitPosition::default()) {
            while let Some(commits) = tail.next_page(snapshot.reader, target.deadline).await? {
                for commit in &commits {
                    let inside = self.events_of(commit, segment.ancestor);
                    inside
                        .filter(|event| event.version <= segment.last)
                        .for_each(|event| newest.push(event));
                }
                if tail.position().version >= segment.last {
                    break;
                }
            }
        }
        let row_version = source.row_position().version;
        self.next = match newest.events.back().filter(|_| newest.is_cut) {
            Some(oldest) => before(oldest.version),
            None => Some(row_version).filter(|version| *version > Version::ZERO),
        };
        filling.extend(newest.events.into());
        Ok(())
    }

    async fn backward_in_rows(
        &mut self,
        next: Version,
        segment: Segment,
        filling: &mut Filling,
    ) -> Result<(), Problem> {
        if let Some(read) = self.take_prefetched(segment.ancestor, filling) {
            let inherited = self.segments.inherited_before(segment.first);
            self.next = match read {
                RowsRead::All => Some(inherited).filter(|version| *version > Version::ZERO),
                RowsRead::Through(version) => before(version),
            };
            return Ok(());
        }
        let batch = filling.left().of_one_statement();
        let segments = self.segments_in_rows(next, batch);
        let found = match segments.in_rows.as_slice() {
            [] => Vec::new(),
            [segment] => self.rows_of(*segment, batch).await?,
            several => self.rows_of_several(several, batch).await?,
        };
        let last = found.last().filter(|_| fills(&found, batch));
        self.next = before(last.map_or(segments.first, |event| event.version));
        filling.extend(found);
        Ok(())
    }

    /// The segments that one statement reads, the newest first: enough of them to fill a batch, unless the events are rare.
    fn segments_in_rows(&self, next: Version, batch: Batch) -> InRows {
        let (mut in_rows, mut first, mut versions) = (Vec::new(), next, 0_u64);
        let enough = u64::try_from(batch.events_max).unwrap_or(u64::MAX);
        for segment in self.segments.within(self.query.from, next).rev() {
            let is_enough = versions >= enough && !is_rare(self.query.kinds);
            if is_enough || in_rows.len() == SEGMENTS_PER_READ_MAX || self.is_in_tail(segment) {
                break;
            }
            first = segment.first;
            let source = self.snapshot.source(segment.ancestor);
            let segment = segment.up_to(source.row_position().version);
            if segment.first <= segment.last {
                versions = versions.saturating_add(segment.last.0 - segment.first.0 + 1);
                in_rows.push(segment);
            }
        }
        InRows { in_rows, first }
    }

    async fn rows_of_several(
        &self,
        segments: &[Segment],
        batch: Batch,
    ) -> Result<Vec<EventRow>, Problem> {
        let snapshot = self.snapshot;
        let range = |segment: &Segment| EventRange {
            conversation: snapshot
                .source_target(segment.ancestor)
                .key
                .conversation
                .clone(),
            first: segment.first,
            last: segment.last,
        };
        let ranges: Vec<EventRange> = segments.iter().map(range).collect();
        let query = RangesQuery {
            ranges: &ranges,
            kinds: self.query.kinds,
            limit: u32::try_from(batch.events_max).unwrap_or(u32::MAX),
            bytes_max: batch.bytes_max,
        };
        let tenant = &snapshot.target.access.tenant;
        let found = queries::events_of_ranges(&snapshot.reader.read_model, tenant, query);
        let found = snapshot.target.deadline.rows(found).await?;
        found.ok_or_else(problem::not_found)
    }
}

/// Segments that the rows hold.
struct InRows {
    /// The newest first.
    in_rows: Vec<Segment>,
    /// The first version that was considered.
    first: Version,
}

/// The newest events of a tail of any length.
///
/// An event is in it when fewer than `events_max` events and fewer than `bytes_max` bytes are newer.
struct Window {
    /// Newest first.
    events: VecDeque<EventRow>,
    bytes: u64,
    batch: Batch,
    /// Whether an older event was dropped.
    is_cut: bool,
}

impl Window {
    fn new(batch: Batch) -> Self {
        Self {
            events: VecDeque::new(),
            bytes: 0,
            batch,
            is_cut: false,
        }
    }

    /// Adds an event newer than all in it; drops the oldest where the bounds require it.
    fn push(&mut self, event: EventRow) {
        self.bytes += size_bytes(&event);
        self.events.push_front(event);
        while let Some(oldest) = self.events.pop_back() {
            let newer_bytes = self.bytes - size_bytes(&oldest);
            if newer_bytes < self.batch.bytes_max && self.events.len() < self.batch.events_max {
                self.events.push_back(oldest);
                return;
            }
            self.bytes = newer_bytes;
            self.is_cut = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use domain::{CommitId, Timestamp};
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
        let mut window = Window::new(Batch {
            events_max,
            bytes_max,
        });
        for (version, size) in (1..).zip(sizes) {
            window.push(EventRow {
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
