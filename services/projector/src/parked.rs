//! Retries parked conversations: a newer program or a repaired row may unpark them. The projector retries all of them when it
//! takes their partition; operators retry single ones.

use domain::{ConversationKey, Partition, Position, Sequence};
use event_log::{Record, Unavailable};
use read_model::projections::conversations::parking::{self, RetryOutcome};
use read_model::projections::conversations::{Item, ParkReason};
use read_model::{ReadModel, ReadModelError};
use thiserror::Error;

use crate::reader::item;

/// Number of parked conversations per page.
const PAGE: u32 = 100;
/// Number of commits of one conversation per transaction.
const COMMITS: u32 = 100;

/// The result of a retry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All waiting commits are written: the conversation is complete and unparked.
    Freed,
    /// It still cannot be projected.
    StillParked(ParkReason),
    /// The record does not contain the first waiting commit.
    Lost(Position),
    /// No commit waits: it is not parked, or an operator dropped its last waiting commit.
    NothingWaits,
    /// Another process changed it concurrently.
    Changed,
}

/// Why a retry failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RetryError {
    /// The read model failed.
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
    /// The record is unavailable.
    #[error(transparent)]
    Record(#[from] Unavailable),
}

/// Retries every parked conversation of a partition once.
pub(crate) async fn retry_all(record: Record, model: ReadModel, partition: Partition) {
    let mut after: Option<ConversationKey> = None;
    loop {
        let page = match parking::list(&model, Some(partition), after.as_ref(), PAGE).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%partition, %error, "parked conversations cannot be listed");
                return;
            }
        };
        for parked in &page {
            match retry(&record, &model, &parked.key).await {
                Ok(outcome) => tracing::info!(
                    tenant.id = parked.key.tenant.as_str(),
                    conversation.id = parked.key.conversation.as_str(),
                    ?outcome,
                    "parked conversation retried"
                ),
                Err(error) => {
                    tracing::warn!(%partition, %error, "a parked conversation cannot be retried");
                }
            }
        }
        match page.last() {
            Some(last) => after = Some(last.key.clone()),
            None => return,
        }
    }
}

/// Reads the waiting commits of a parked conversation from the record and writes them, up to the first that fails. Safe while
/// a projector runs.
///
/// # Errors
/// [`RetryError`]: the commits written so far remain.
pub async fn retry(record: &Record, model: &ReadModel, key: &ConversationKey) -> Result<Outcome, RetryError> {
    let partition = record.partition_of(key).await?;
    loop {
        let waiting = parking::waiting(model, key, COMMITS).await?;
        let Some(first) = waiting.first() else {
            return Ok(Outcome::NothingWaits);
        };
        let items = read(record, key, partition, &waiting).await?;
        if items.is_empty() {
            let sequence = *first;
            return Ok(Outcome::Lost(Position { partition, sequence }));
        }
        match parking::retry(model, key, &items).await? {
            RetryOutcome::Partial => {}
            RetryOutcome::Freed => return Ok(Outcome::Freed),
            RetryOutcome::StillParked(reason) => return Ok(Outcome::StillParked(reason)),
            RetryOutcome::Changed => return Ok(Outcome::Changed),
        }
    }
}

/// Reads the first waiting commits, up to one that the record does not contain.
async fn read(
    record: &Record,
    key: &ConversationKey,
    partition: Partition,
    waiting: &[Sequence],
) -> Result<Vec<Item>, Unavailable> {
    let mut items = Vec::with_capacity(waiting.len());
    for sequence in waiting {
        let position = Position { partition, sequence: *sequence };
        match record.message_at(position).await? {
            Some(message) => items.push(item(key, &message)),
            None => break,
        }
    }
    Ok(items)
}
