//! Reads forward: of each conversation its rows, then the commits that they do not hold.

use domain::{Segment, Version};
use wire::status::Problem;

use super::{Cursor, CursorEvent, Filling, RowsRead, after, fills};
use crate::position::CommitPosition;

impl Cursor<'_> {
    /// Reads forward until the batch is full or the range ends.
    pub(super) async fn forward(&mut self, filling: &mut Filling) -> Result<(), Problem> {
        while let Some(next) = self.next.filter(|_| !filling.is_full()) {
            let Some(segment) = self.segments.within(next, self.query.to).next() else {
                self.next = None;
                break;
            };
            let source = self.snapshot.source(segment.ancestor);
            let row_version = source.row_position().version;
            if segment.first > row_version {
                self.forward_in_tail(segment, filling).await?;
            } else {
                self.forward_in_rows(segment.up_to(row_version), filling)
                    .await?;
            }
        }
        Ok(())
    }

    async fn forward_in_rows(
        &mut self,
        segment: Segment,
        filling: &mut Filling,
    ) -> Result<(), Problem> {
        let row_version = self.snapshot.read.row_position().version;
        if let Some(read) = self.take_prefetched(segment.ancestor, filling) {
            self.next = match read {
                RowsRead::All => after(row_version),
                RowsRead::Through(version) => after(version),
            };
            return Ok(());
        }
        let batch = filling.left().of_one_statement();
        let found = self.rows_of(segment, batch).await?;
        let last = found.last().filter(|_| fills(&found, batch));
        self.next = after(last.map_or(segment.last, |event| event.version));
        filling.extend(found);
        Ok(())
    }

    /// Reads the commits of a conversation that its rows do not hold, as far as they are part of the range.
    async fn forward_in_tail(
        &mut self,
        segment: Segment,
        filling: &mut Filling,
    ) -> Result<(), Problem> {
        let snapshot = self.snapshot;
        let source = snapshot.source(segment.ancestor);
        let target = snapshot.source_target(segment.ancestor);
        let end = self.end_of(segment);
        self.next = after(end);
        let Some(tail) = source.tail(target, self.query.after) else {
            return Ok(());
        };
        let mut tail = tail.in_pages_of(filling.left().events_max);
        let mut before = tail.position();
        while let Some(commits) = tail.next_page(snapshot.reader, target.deadline).await? {
            for commit in commits {
                let inside = self.events_of(&commit, segment.ancestor);
                for row in inside.filter(|row| row.version >= segment.first) {
                    let version = row.version;
                    filling.push(CursorEvent { row, after: before });
                    if filling.is_full() {
                        (self.next, self.query.after) = (after(version), before);
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
        let segments = self.segments.within(segment.first, self.query.to);
        let mut of_it = segments.filter(|other| other.ancestor == segment.ancestor);
        of_it.next_back().map_or(segment.last, |other| other.last)
    }
}
