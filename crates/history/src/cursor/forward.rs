//! Reads forward: of each conversation its rows, then its tail.

use domain::{Segment, Version};
use wire::status::Problem;

use super::{BatchBuilder, Cursor, CursorEvent, RowsRead, after};
use crate::position::CommitPosition;

impl Cursor<'_> {
    /// Reads forward until the batch is full or the range ends.
    pub(super) async fn forward(&mut self, batch_builder: &mut BatchBuilder) -> Result<(), Problem> {
        while let Some(next) = self.next.filter(|_| !batch_builder.is_full()) {
            let Some(segment) = self.segments.within(next, self.range.to).next() else {
                self.next = None;
                break;
            };
            let source = self.snapshot.source(segment.ancestor);
            let row_version = source.row_position().version;
            if segment.first > row_version {
                self.forward_in_tail(segment, batch_builder).await?;
            } else {
                self.forward_in_rows(segment.up_to(row_version), batch_builder).await?;
            }
        }
        Ok(())
    }

    async fn forward_in_rows(&mut self, segment: Segment, batch_builder: &mut BatchBuilder) -> Result<(), Problem> {
        let row_version = self.snapshot.read.row_position().version;
        if let Some(read) = self.take_prefetched(segment.ancestor, batch_builder) {
            self.next = match read {
                RowsRead::Own => after(row_version),
                RowsRead::Through(version) => after(version),
            };
            return Ok(());
        }
        let batch = batch_builder.remaining().of_one_statement();
        let found = self.rows_of(segment, batch).await?;
        let last = found.last().filter(|_| batch.is_filled_by(&found));
        self.next = after(last.map_or(segment.last, |event| event.version));
        batch_builder.extend(found);
        Ok(())
    }

    /// Reads the tail of a conversation, as far as it is part of the range.
    async fn forward_in_tail(&mut self, segment: Segment, batch_builder: &mut BatchBuilder) -> Result<(), Problem> {
        let snapshot = self.snapshot;
        let source = snapshot.source(segment.ancestor);
        let target = snapshot.source_target(segment.ancestor);
        let end = self.end_of(segment);
        self.next = after(end);
        let Some(tail) = source.tail(target, self.range.after) else {
            return Ok(());
        };
        let mut tail = tail.in_pages_of(batch_builder.remaining().events_max);
        let mut before = tail.position();
        while let Some(commits) = tail.next_page(&snapshot.reader, target.deadline).await? {
            for commit in commits {
                let inside = self.events_of(&commit, segment.ancestor);
                for row in inside.filter(|row| row.version >= segment.first) {
                    let version = row.version;
                    batch_builder.push(CursorEvent { row, after: before });
                    if batch_builder.is_full() {
                        (self.next, self.range.after) = (after(version), before);
                        return Ok(());
                    }
                }
                before = CommitPosition::of(&commit);
                if before.version >= end {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The last version of the range that the conversation of a segment recorded.
    fn end_of(&self, segment: Segment) -> Version {
        let segments = self.segments.within(segment.first, self.range.to);
        let mut own = segments.filter(|other| other.ancestor == segment.ancestor);
        own.next_back().map_or(segment.last, |other| other.last)
    }
}
