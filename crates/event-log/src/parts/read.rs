//! Reading the parts of a run.

use domain::{ConversationKey, RunId, Sequence};

use super::StoredParts;
use crate::batch::{BATCH_MESSAGES_MAX, BatchRequest, From};
use crate::error::Unavailable;
use crate::get::Which;
use crate::record::Record;
use crate::tail::within;

/// Most of a run that one call may return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartsBounds {
    /// Most batches; from 1 to 1,000, what is outside counts as the nearest.
    pub batches_max: usize,
    /// Most bytes of batches, the last one among them; at least one is returned whatever its size.
    pub bytes_max: usize,
}

impl Default for PartsBounds {
    /// 500 batches or 4 MiB at a time.
    fn default() -> Self {
        Self {
            batches_max: 500,
            bytes_max: 4 * 1024 * 1024,
        }
    }
}

/// Batches of one run, in order.
///
/// Nothing between two of them is missing, but what came before the first may be gone for its age: then its first part
/// does not follow the last one that the reader has (number 1 for one that has none). A run that is over and has no
/// batches at all had them, and they are gone; one under way may not have begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartsPage {
    /// The batches.
    pub batches: Vec<StoredParts>,
    /// Where to read on; `None`: the run had no more.
    pub resume_after: Option<Sequence>,
}

impl Record {
    /// The batches of a run after a sequence, in order, up to the bounds, as any replica knows them.
    ///
    /// It may stop somewhat below the bounds; `resume_after` says whether there was more.
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
        let place = self.parts_place(key, run);
        let request = BatchRequest {
            from: From::Sequence(after.0.saturating_add(1)),
            subject: &place.subject,
            messages_max: bounds.batches_max.clamp(1, BATCH_MESSAGES_MAX),
            bytes_max: bounds.bytes_max.max(1),
        };
        let connection = self.connection();
        let batch = connection.batch(
            &place.stream,
            &request,
            request.messages_max,
            self.deadline(),
        );
        let batch = within(batch.await?, bounds.bytes_max);
        let more = batch.pending > 0;
        Ok(PartsPage {
            resume_after: batch.last_sequence().filter(|_| more),
            batches: batch
                .messages
                .into_iter()
                .map(|message| StoredParts::of(place.partition, message))
                .collect(),
        })
    }

    /// A run's last batch as the stream's leader knows it: every one that was acknowledged is seen; `None`: it has none,
    /// or none any more.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn last_parts(
        &self,
        key: &ConversationKey,
        run: RunId,
    ) -> Result<Option<StoredParts>, Unavailable> {
        let place = self.parts_place(key, run);
        let last = Which::LastOf(&place.subject);
        let connection = self.connection();
        let message = connection.get_from_leader(&place.stream, &last, self.deadline());
        Ok(message
            .await?
            .map(|message| StoredParts::of(place.partition, message)))
    }

    /// A run's batch at a sequence, as the stream's leader knows it; `None`: none of the run's stands there, or not any
    /// more.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn parts_at(
        &self,
        key: &ConversationKey,
        run: RunId,
        sequence: Sequence,
    ) -> Result<Option<StoredParts>, Unavailable> {
        // The server takes the sequence 0 for none given.
        if sequence == Sequence(0) {
            return Ok(None);
        }
        let place = self.parts_place(key, run);
        let at = Which::At(sequence.0);
        let connection = self.connection();
        let message = connection.get_from_leader(&place.stream, &at, self.deadline());
        let message = message
            .await?
            .filter(|message| message.subject == place.subject);
        Ok(message.map(|message| StoredParts::of(place.partition, message)))
    }
}
