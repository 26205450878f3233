//! Tries parked conversations again: newer software, or a mended row, may free them. The projector does so with every one
//! when it takes their partition, operators when they like.

use domain::{ConversationKey, Partition, Position, Sequence};
use event_log::{Record, Unavailable};
use read_model::projections::conversations::parking::{self, Retried};
use read_model::projections::conversations::{Item, ParkReason};
use read_model::{ReadModel, ReadModelError};
use thiserror::Error;

use crate::reader::item;

/// Parked conversations that are looked up at a time.
const PAGE: u32 = 100;
/// Commits of one conversation that are tried at a time.
const COMMITS: u32 = 100;

/// What became of a parked conversation that was tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All that waited is written: it is served whole, and goes on.
    Freed,
    /// It still cannot be projected.
    StillParked(ParkReason),
    /// The record does not hold the commit that waits first.
    Lost(Position),
    /// No commit waits: it is not parked, or its last waiting commit was dropped and the next is not there yet.
    NothingWaits,
    /// Somebody else has changed it meanwhile.
    Changed,
}

/// A parked conversation cannot be tried again now.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RetryError {
    /// The read models do not answer.
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
    /// The record does not answer.
    #[error(transparent)]
    Record(#[from] Unavailable),
}

/// Tries every parked conversation of a partition, once.
pub(crate) async fn retry_all(record: Record, model: ReadModel, partition: Partition) {
    let mut after: Option<ConversationKey> = None;
    loop {
        let page = match parking::list(&model, Some(partition), after.as_ref(), PAGE).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%partition, %error, "parked conversations cannot be looked up");
                return;
            }
        };
        for parked in &page {
            match retry(&record, &model, &parked.key).await {
                Ok(outcome) => tracing::info!(
                    tenant.id = parked.key.tenant.as_str(),
                    conversation.id = parked.key.conversation.as_str(),
                    ?outcome,
                    "parked conversation tried again"
                ),
                Err(error) => {
                    tracing::warn!(%partition, %error, "a parked conversation cannot be tried again");
                }
            }
        }
        match page.last() {
            Some(last) => after = Some(last.key.clone()),
            None => return,
        }
    }
}

/// Reads what waits of a parked conversation from the record again, and writes it, as far as it goes. Safe beside a
/// projector that works.
///
/// # Errors
/// [`RetryError`]; what was written stays.
pub async fn retry(
    record: &Record,
    model: &ReadModel,
    key: &ConversationKey,
) -> Result<Outcome, RetryError> {
    let partition = record.partition_of(key);
    loop {
        let waiting = parking::waiting(model, key, COMMITS).await?;
        let Some(first) = waiting.first() else {
            return Ok(Outcome::NothingWaits);
        };
        let items = read(record, key, partition, &waiting).await?;
        if items.is_empty() {
            let sequence = *first;
            return Ok(Outcome::Lost(Position {
                partition,
                sequence,
            }));
        }
        match parking::retry(model, key, &items).await? {
            Retried::MoreWaits => {}
            Retried::Freed => return Ok(Outcome::Freed),
            Retried::StillParked(reason) => return Ok(Outcome::StillParked(reason)),
            Retried::Changed => return Ok(Outcome::Changed),
        }
    }
}

/// The commits that wait first, up to one that the record does not hold.
async fn read(
    record: &Record,
    key: &ConversationKey,
    partition: Partition,
    waiting: &[Sequence],
) -> Result<Vec<Item>, Unavailable> {
    let mut items = Vec::with_capacity(waiting.len());
    for sequence in waiting {
        let position = Position {
            partition,
            sequence: *sequence,
        };
        match record.message_at(position).await? {
            Some(message) => items.push(item(key, &message)),
            None => break,
        }
    }
    Ok(items)
}
