//! Tries parked conversations again when their partition is taken: newer software, or a mended row, may free them.

use domain::{ConversationKey, Partition, Position, Sequence};
use event_log::Record;
use read_model::projections::conversations::Item;
use read_model::projections::conversations::parking::{self, Retried};
use read_model::{ReadModel, ReadModelError};

use crate::reader::item;

/// Parked conversations that are looked up at a time.
const PAGE: u32 = 100;
/// Commits of one conversation that are tried at a time.
const COMMITS: u32 = 100;

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
            if let Err(error) = retry(&record, &model, partition, &parked.key).await {
                tracing::warn!(%partition, %error, "a parked conversation cannot be tried again");
            }
        }
        match page.last() {
            Some(last) => after = Some(last.key.clone()),
            None => return,
        }
    }
}

async fn retry(
    record: &Record,
    model: &ReadModel,
    partition: Partition,
    key: &ConversationKey,
) -> Result<(), ReadModelError> {
    loop {
        let waiting = parking::waiting(model, key, COMMITS).await?;
        let items = read(record, key, partition, &waiting).await;
        if items.is_empty() {
            return Ok(());
        }
        let retried = parking::retry(model, key, &items).await?;
        tracing::info!(
            tenant.id = key.tenant.as_str(),
            conversation.id = key.conversation.as_str(),
            ?retried,
            "parked conversation tried again"
        );
        if retried != Retried::MoreWaits {
            return Ok(());
        }
    }
}

/// The commits that wait first, up to one that the record does not hold or give now.
async fn read(
    record: &Record,
    key: &ConversationKey,
    partition: Partition,
    waiting: &[Sequence],
) -> Vec<Item> {
    let mut items = Vec::with_capacity(waiting.len());
    for sequence in waiting {
        let position = Position {
            partition,
            sequence: *sequence,
        };
        match record.message_at(position).await {
            Ok(Some(message)) => items.push(item(key, &message)),
            Ok(None) | Err(_) => break,
        }
    }
    items
}
