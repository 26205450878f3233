//! Reads forward: of each conversation its rows, then the commits that they do not hold.

use domain::{Segment, Version};
use wire::status::Problem;

use super::{Batch, Cursor, CursorEvent, after};
use crate::position::CommitPosition;

impl Cursor<'_> {
    /// Reads forward until the batch is full or the range ends.
    pub(super) async fn forward(&mut self, batch: Batch) -> Result<Vec<CursorEvent>, Problem> {
        let mut events = Vec::new();
        while let Some(next) = self.next.filter(|_| !batch.is_full(&events)) {
            let Some(segment) = self.segments.within(next, self.query.to).next() else {
                self.next = None;
                break;
            };
            let left = batch.less(&events);
            let source = self.snapshot.source(segment.ancestor);
            let row_version = source.row_position().version;
            let found = if segment.first > row_version {
                self.forward_in_tail(segment, left).await?
            } else {
                self.forward_in_rows(segment.up_to(row_version), left)
                    .await?
            };
            events.extend(found);
        }
        Ok(events)
    }

    async fn forward_in_rows(
        &mut self,
        segment: Segment,
        batch: Batch,
    ) -> Result<Vec<CursorEvent>, Problem> {
        let row_version = self.snapshot.read.row_position().version;
        if let Some((found, last)) = self.take_prefetched(segment.ancestor, batch) {
            self.next = after(last.unwrap_or(row_version));
            return Ok(found);
        }
        let batch = batch.of_one_statement();
        let found = self.rows_of(segment, batch).await?;
        let last = found.last().filter(|_| batch.is_full(&found));
        self.next = after(last.map_or(segment.last, |event| event.row.version));
        Ok(found)
    }

    /// Reads the commits of a conversation that its rows do not hold, as far as they are part of the range.
    async fn forward_in_tail(
        &mut self,
        segment: Segment,
        batch: Batch,
    ) -> Result<Vec<CursorEvent>, Problem> {
        let snapshot = self.snapshot;
        let (source, target) = (
            snapshot.source(segment.ancestor),
            snapshot.source_target(segment.ancestor),
        );
        let end = self.end_of(segment);
        self.next = after(end);
        let Some(tail) = source.tail(target, self.query.after) else {
            return Ok(Vec::new());
        };
        let mut tail = tail.in_pages_of(batch.events_max);
        let (mut before, mut found) = (tail.position(), Vec::new());
        while let Some(commits) = tail.next_page(snapshot.reader, target.deadline).await? {
            for commit in commits {
                let inside = self.events_of(&commit, segment.ancestor);
                for row in inside.filter(|row| row.version >= segment.first) {
                    found.push(CursorEvent { row, after: before });
                    if batch.is_full(&found) {
                        break;
                    }
                }
                if let Some(last) = found.last().filter(|_| batch.is_full(&found)) {
                    (self.next, self.query.after) = (after(last.row.version), before);
                    return Ok(found);
                }
                before = CommitPosition::of(&commit);
                if before.version >= end {
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }

    /// The last version of the range that the conversation of a segment recorded.
    fn end_of(&self, segment: Segment) -> Version {
        let segments = self.segments.within(segment.first, self.query.to);
        let mut of_it = segments.filter(|other| other.ancestor == segment.ancestor);
        of_it.next_back().map_or(segment.last, |other| other.last)
    }
}
