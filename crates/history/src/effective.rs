//! The effective history of a snapshot: the recorded events except those that rewinds hide.

use domain::{EventKind, RecordedEvent, Segments, Version};
use wire::status::Problem;

use crate::cursor::View;
use crate::event::decode;
use crate::lineage::Ancestor;
use crate::range::{Bounds, Direction, Range};
use crate::snapshot::Snapshot;

const REWINDS: Bounds = Bounds { events_max: 1_000, bytes_max: 1024 * 1024 };

impl Snapshot<'_> {
    /// The effective history as it was at a version, as segments.
    ///
    /// # Errors
    /// A dependency does not answer, or an event cannot be decoded.
    pub async fn effective(&self, at: Version) -> Result<Segments, Problem> {
        let own = self.head().and_then(|head| head.latest_rewind);
        if own.is_none() && !self.ancestors.iter().any(Ancestor::is_rewound) {
            return Ok(self.recorded.clone());
        }
        // Boxed: few conversations have rewinds.
        let rewinds = Box::pin(self.rewinds(at)).await?;
        Ok(self.recorded.clone().without_rewound(&rewinds))
    }

    async fn rewinds(&self, at: Version) -> Result<Vec<RecordedEvent>, Problem> {
        let kinds = [EventKind::HistoryRewound];
        let range = Range { to: at.min(self.position().version), kinds: &kinds, ..Range::all(Direction::Backward) };
        let mut cursor = self.cursor(range, View::Recorded);
        let mut rewinds = Vec::new();
        while let Some(batch) = cursor.next(REWINDS).await? {
            for event in &batch {
                rewinds.push(decode(&self.target.key, &event.row)?);
            }
        }
        Ok(rewinds)
    }
}
