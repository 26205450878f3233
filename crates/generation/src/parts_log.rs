//! Reads the stored parts of runs.

use domain::{ConversationKey, RunId, RunPart, RunPartKind, Sequence};
use event_log::{PartsBounds, StoredParts};
use wire::status::Problem;

use history::Deadline;
use record_access::{Gateway, problem};

/// Parts that were published together.
#[derive(Debug)]
pub(super) struct Batch {
    /// Its sequence in the stream of parts.
    pub(super) sequence: Sequence,
    /// The parts, numbered without gaps; at least one.
    pub(super) parts: Vec<RunPart>,
}

impl Batch {
    /// Decodes a stored message.
    ///
    /// # Errors
    /// The message is corrupt.
    pub(super) fn of(stored: StoredParts, run: RunId) -> Result<Self, Problem> {
        let sequence = stored.sequence;
        let parts = wire::run::decode_batch(stored.bytes).map_err(|corrupt| {
            problem::of_contradiction(format!("the parts of run {run} at sequence {sequence} are corrupt: {corrupt}"))
        })?;
        Ok(Self { sequence, parts })
    }

    /// The number of the last part.
    pub(super) fn last_number(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.number)
    }

    /// Whether the batch holds the run's end.
    pub(super) fn ends(&self) -> bool {
        self.parts.last().is_some_and(is_end)
    }
}

/// Whether a part is the end of its run.
pub(super) fn is_end(part: &RunPart) -> bool {
    matches!(part.kind, RunPartKind::RunEnded(_))
}

/// Batches of a run, in order.
pub(super) struct Page {
    pub(super) batches: Vec<Batch>,
    pub(super) has_more: bool,
}

/// The batches of a run after a sequence, from any replica.
///
/// # Errors
/// The record is unavailable, or a batch is corrupt.
pub(super) async fn page(
    gateway: &Gateway,
    key: &ConversationKey,
    run: RunId,
    after: Sequence,
) -> Result<Page, Problem> {
    let bounds = PartsBounds::default();
    let reading = gateway.reader.record.parts_after(key, run, after, bounds);
    let page = Deadline::until(None).record(reading).await?;
    let batches = page.batches.into_iter();
    Ok(Page {
        has_more: page.resume_after.is_some(),
        batches: batches.map(|stored| Batch::of(stored, run)).collect::<Result<_, _>>()?,
    })
}

/// The last batch of a run, from the stream's leader.
///
/// # Errors
/// As [`page`].
pub(super) async fn last(gateway: &Gateway, key: &ConversationKey, run: RunId) -> Result<Option<Batch>, Problem> {
    let reading = gateway.reader.record.last_parts(key, run);
    let last = Deadline::until(None).record(reading).await?;
    last.map(|stored| Batch::of(stored, run)).transpose()
}
