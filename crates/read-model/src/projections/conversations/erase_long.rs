//! Erasure of long conversations: their events are deleted in bounded transactions, before the transaction that writes the
//! tombstone and advances the checkpoint.
//!
//! A projector that stops in between repeats the batch and finds fewer events to delete. The deleted events cannot return,
//! because a batch with a tombstone writes no events of its conversation. Consistent reads see the tombstone in the record
//! meanwhile.

use domain::Status;
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgConnection};
use wire::commit::StoredCommit;

use super::batch::{Batch, Item};
use super::tombstones::use_schema;
use crate::arguments::{arguments, execute, signed};
use crate::error::ReadModelError;
use crate::live::{SchemaName, parse_schema_name};
use crate::model::{Durability, ReadModel};

/// Maximum number of events of an erased conversation that one transaction deletes.
pub const ERASED_EVENTS_PER_TRANSACTION_MAX: u64 = 5_000;

/// Deletes the events of the erased conversations that may have more than [`ERASED_EVENTS_PER_TRANSACTION_MAX`] events, in
/// the live schema and in the retained ones.
pub(super) async fn erase_long(model: &ReadModel, batches: &[Batch]) -> Result<(), ReadModelError> {
    let items = batches.iter().flat_map(|batch| &batch.items);
    let large: Vec<&StoredCommit> = items.filter_map(large_tombstone).collect();
    if large.is_empty() {
        return Ok(());
    }
    let retained = model.fetch(include_str!("retained_schemas.sql"), PgArguments::default).await?;
    for tombstone in large {
        erase_events(model, None, tombstone).await?;
        for row in &retained {
            let schema = parse_schema_name(row.try_get(0)?)?;
            erase_events(model, Some(schema), tombstone).await?;
        }
    }
    Ok(())
}

fn large_tombstone(item: &Item) -> Option<&StoredCommit> {
    let Item::Commit(commit) = item else {
        return None;
    };
    let head = &commit.opened.commit.head;
    let is_large = head.version.0 > ERASED_EVENTS_PER_TRANSACTION_MAX;
    (head.status == Status::Erased && is_large).then_some(commit)
}

/// Deletes the events of one conversation in a schema; `None`: the schema of the connection.
async fn erase_events(
    model: &ReadModel,
    schema: Option<SchemaName>,
    tombstone: &StoredCommit,
) -> Result<(), ReadModelError> {
    let commit = &tombstone.opened.commit;
    let mut first = 1;
    while first <= commit.head.version.0 {
        let last = first.saturating_add(ERASED_EVENTS_PER_TRANSACTION_MAX - 1);
        let (tenant, id) = (commit.tenant.as_str(), commit.conversation.as_str());
        let arguments = arguments![tenant, id, signed(first), signed(last)];
        let erasing = async |connection: &mut PgConnection| -> Result<(), ReadModelError> {
            if let Some(schema) = schema {
                use_schema(connection, schema).await?;
            }
            execute(connection, include_str!("erase_event_range.sql"), arguments).await?;
            Ok(())
        };
        model.transaction(Durability::Repeatable, erasing).await?;
        first = last.saturating_add(1);
    }
    Ok(())
}
