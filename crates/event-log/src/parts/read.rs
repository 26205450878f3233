//! Reads the parts of a run.

use domain::{ConversationKey, RunId, Sequence};

use super::StoredParts;
use crate::connection::get::MessageQuery;
use crate::error::Unavailable;
use crate::read::tail::TailBounds;
use crate::record::Record;

/// Limits of one read of a run's parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartsBounds {
    /// Maximum batches, clamped to 1 to 1,000.
    pub batches_max: usize,
    /// Maximum bytes of all batches; at least one batch of any size is returned.
    pub bytes_max: usize,
}

impl Default for PartsBounds {
    /// 500 batches or 4 MiB.
    fn default() -> Self {
        Self { batches_max: 500, bytes_max: 4 * 1024 * 1024 }
    }
}

/// Batches of one run, in order.
///
/// No batch between two of them is missing. Batches before the first may have expired: then its first part does not follow the
/// last part that the reader has (number 1 for a new reader). A finished run without batches had batches that have
/// expired; an active run without batches may not have started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartsPage {
    /// The batches.
    pub batches: Vec<StoredParts>,
    /// The sequence to continue after; `None`: the run had no more batches.
    pub resume_after: Option<Sequence>,
}

impl Record {
    /// The batches of a run after a sequence, in order, within the bounds, from any replica.
    ///
    /// It may return less than the bounds allow; `resume_after` is set if batches follow.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn parts_after(
        &self,
        key: &ConversationKey,
        run: RunId,
        after: Sequence,
        bounds: PartsBounds,
    ) -> Result<PartsPage, Unavailable> {
        let route = self.parts_route(key, run).await?;
        let bounds = TailBounds { commits_max: bounds.batches_max, bytes_max: bounds.bytes_max };
        let batch = self.read_batch(&route, after, bounds).await?;
        let stored = |message| StoredParts::from_message(route.partition, message);
        let (batches, resume_after) = batch.into_page(stored);
        Ok(PartsPage { batches, resume_after })
    }

    /// A run's last batch from the stream's leader, which has every acknowledged batch; `None`: no batch, or all have expired.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn last_parts(&self, key: &ConversationKey, run: RunId) -> Result<Option<StoredParts>, Unavailable> {
        let route = self.parts_route(key, run).await?;
        let last = MessageQuery::LastOfSubject(&route.subject);
        let message = self.get_from_leader(&route.stream, &last).await?;
        Ok(message.map(|message| StoredParts::from_message(route.partition, message)))
    }

    /// A run's batch at a sequence, from the stream's leader; `None`: no batch of the run has this sequence, or it has expired.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn parts_at(
        &self,
        key: &ConversationKey,
        run: RunId,
        sequence: Sequence,
    ) -> Result<Option<StoredParts>, Unavailable> {
        // The server reads the sequence 0 as absent.
        if sequence == Sequence(0) {
            return Ok(None);
        }
        let route = self.parts_route(key, run).await?;
        let at = MessageQuery::Sequence(sequence.0);
        let message =
            self.get_from_leader(&route.stream, &at).await?.filter(|message| message.subject == route.subject);
        Ok(message.map(|message| StoredParts::from_message(route.partition, message)))
    }
}
