//! Large erasures: what a long conversation has of events is deleted in bounded transactions, before the one that writes its
//! tombstone and moves the checkpoint.
//!
//! A projector that ends in between begins the batch again, and finds fewer events to delete. Nothing brings them back: the
//! batch that holds a tombstone writes no events of its conversation. Fresh reads see the tombstone in the record meanwhile.

use domain::Status;
use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::{Executor as _, Row as _};
use wire::commit::StoredCommit;

use super::batch::{Batch, Item};
use super::elsewhere::enter;
use crate::error::ReadModelError;
use crate::live::{SchemaName, name_of};
use crate::model::{Durability, ReadModel};
use crate::queries::{bind, signed};

/// Most events that one transaction deletes of a conversation that is erased.
pub const ERASED_EVENTS_PER_TRANSACTION_MAX: u64 = 5_000;

/// Deletes the events of every conversation that the batches erase and that may have more than one transaction deletes, in
/// the live schema and in those that are kept.
pub(super) async fn erase_ahead(
    model: &ReadModel,
    batches: &[Batch],
) -> Result<(), ReadModelError> {
    let items = batches.iter().flat_map(|batch| &batch.items);
    let large: Vec<&StoredCommit> = items.filter_map(large_tombstone).collect();
    if large.is_empty() {
        return Ok(());
    }
    let kept = kept_schemas(model).await?;
    for tombstone in large {
        erase_events(model, None, tombstone).await?;
        for schema in &kept {
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

async fn kept_schemas(model: &ReadModel) -> Result<Vec<String>, ReadModelError> {
    let sql = include_str!("kept_schemas.sql");
    let rows = model.fetch(sql, PgArguments::default).await?;
    let names = rows.iter().map(|row| row.try_get(0));
    Ok(names.collect::<Result<_, _>>()?)
}

/// Deletes the events of one conversation in one schema; none named: in the connection's own.
async fn erase_events(
    model: &ReadModel,
    schema: Option<&String>,
    tombstone: &StoredCommit,
) -> Result<(), ReadModelError> {
    let commit = &tombstone.opened.commit;
    let mut first = 1;
    while first <= commit.head.version.0 {
        let last = first.saturating_add(ERASED_EVENTS_PER_TRANSACTION_MAX - 1);
        let arguments = bind(PgArguments::default(), commit.tenant.as_str());
        let arguments = bind(arguments, commit.conversation.as_str());
        let arguments = bind(bind(arguments, signed(first)), signed(last));
        let schema: Option<SchemaName> = schema.map(|name| name_of(name)).transpose()?;
        let erasing = async |connection: &mut PgConnection| -> Result<(), ReadModelError> {
            if let Some(schema) = schema {
                enter(connection, schema).await?;
            }
            let sql = include_str!("erase_event_range.sql");
            connection.execute(sqlx::query_with(sql, arguments)).await?;
            Ok(())
        };
        model.transaction(Durability::Repeatable, erasing).await?;
        first = last.saturating_add(1);
    }
    Ok(())
}
