//! Reads backward: of each conversation its tail, then its rows.

use domain::{Segment, Version};
use read_model::EventRow;
use read_model::queries::{EventRange, RangesQuery, is_rare};
use wire::status::Problem;

use super::{BatchBuilder, Cursor, RowsRead, before};
use crate::lineage_rows::read_ranges;
use crate::position::CommitPosition;
use crate::range::{Bounds, RANGES_PER_READ_MAX};
use crate::window::Window;

impl Cursor<'_> {
    /// Reads backward until the batch is full or the range ends.
    pub(super) async fn backward(&mut self, batch_builder: &mut BatchBuilder) -> Result<(), Problem> {
        while let Some(next) = self.next.filter(|_| !batch_builder.is_full()) {
            let Some(segment) = self.segments.within(self.range.from, next).next_back() else {
                self.next = None;
                break;
            };
            if self.is_in_tail(segment) {
                self.backward_in_tail(segment, batch_builder).await?;
            } else {
                self.backward_in_rows(next, segment, batch_builder).await?;
            }
        }
        Ok(())
    }

    /// Whether a segment ends in the tail.
    fn is_in_tail(&self, segment: Segment) -> bool {
        let source = self.snapshot.source(segment.ancestor);
        segment.last > source.row_position().version && !source.is_in_rows()
    }

    /// Reads the tail of a conversation: all its segments in one pass over its commits.
    async fn backward_in_tail(&mut self, segment: Segment, batch_builder: &mut BatchBuilder) -> Result<(), Problem> {
        let snapshot = self.snapshot;
        let source = snapshot.source(segment.ancestor);
        let target = snapshot.source_target(segment.ancestor);
        let mut newest = Window::new(batch_builder.remaining());
        if let Some(mut tail) = source.tail(target, CommitPosition::default()) {
            while let Some(commits) = tail.next_page(&snapshot.reader, target.deadline).await? {
                for commit in &commits {
                    let events = self.events_of(commit, segment.ancestor);
                    let inside = events.filter(|event| event.version <= segment.last);
                    inside.for_each(|event| newest.push_newer(event));
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
        batch_builder.extend(newest.events.into());
        Ok(())
    }

    async fn backward_in_rows(
        &mut self,
        next: Version,
        segment: Segment,
        batch_builder: &mut BatchBuilder,
    ) -> Result<(), Problem> {
        if let Some(read) = self.take_prefetched(segment.ancestor, batch_builder) {
            let inherited = self.segments.inherited_before(segment.first);
            let after_next = next.next();
            self.next = match read {
                RowsRead::Own => Some(inherited).filter(|version| *version > Version::ZERO),
                RowsRead::Through(version) => before(version.min(after_next)),
            };
            return Ok(());
        }
        let batch = batch_builder.remaining().of_one_statement();
        let segments = self.segments_in_rows(next, batch);
        let found = match segments.in_rows.as_slice() {
            [] => Vec::new(),
            [segment] => self.rows_of(*segment, batch).await?,
            several => self.rows_of_several(several, batch).await?,
        };
        let last = found.last().filter(|_| batch.is_filled_by(&found));
        self.next = before(last.map_or(segments.first, |event| event.version));
        batch_builder.extend(found);
        Ok(())
    }

    /// The segments that one statement reads, the newest first: enough of them to fill a batch, unless the events are rare.
    fn segments_in_rows(&self, next: Version, batch: Bounds) -> InRows {
        let (mut in_rows, mut first, mut versions) = (Vec::new(), next, 0_u64);
        let enough = u64::try_from(batch.events_max).unwrap_or(u64::MAX);
        for segment in self.segments.within(self.range.from, next).rev() {
            let is_enough = versions >= enough && !is_rare(self.range.kinds);
            if is_enough || in_rows.len() == RANGES_PER_READ_MAX || self.is_in_tail(segment) {
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

    async fn rows_of_several(&self, segments: &[Segment], batch: Bounds) -> Result<Vec<EventRow>, Problem> {
        let snapshot = self.snapshot;
        let range = |segment: &Segment| {
            let key = &snapshot.source_target(segment.ancestor).key;
            EventRange { conversation: key.conversation.clone(), first: segment.first, last: segment.last }
        };
        let ranges: Vec<EventRange> = segments.iter().map(range).collect();
        let query = RangesQuery {
            ranges: &ranges,
            kinds: self.range.kinds,
            limit: u32::try_from(batch.events_max).unwrap_or(u32::MAX),
            bytes_max: batch.bytes_max,
        };
        read_ranges(&snapshot.reader, snapshot.target, query).await
    }
}

struct InRows {
    /// The newest first.
    in_rows: Vec<Segment>,
    /// The first version that they cover.
    first: Version,
}
