//! Retries the waiting commits of a parked conversation.

use domain::ConversationKey;
use sqlx::Row as _;
use sqlx::postgres::PgConnection;

use super::super::batch::{Item, ParkReason};
use super::super::conversation_rows::Gaps;
use super::super::digest;
use super::super::group::group_items;
use super::super::isolate::write_isolated;
use super::super::usage::count_usage;
use super::super::write::WriteMode;
use super::list::sequences;
use super::lock_partition;
use crate::arguments::{bind, bind_key, execute, signed};
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};

/// The result of a retry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryOutcome {
    /// No commit waits any more: the conversation is complete and unparked.
    Freed,
    /// The given commits are written; others still wait.
    Partial,
    /// It still cannot be projected.
    StillParked(ParkReason),
    /// It is not parked, or other commits wait first: read it again.
    Changed,
}

/// Writes the first waiting commits of a parked conversation, read from the record: `items`, in order, at least one.
///
/// # Errors
/// [`ReadModelError::Unavailable`]: nothing was changed.
pub async fn retry(model: &ReadModel, key: &ConversationKey, items: &[Item]) -> Result<RetryOutcome, ReadModelError> {
    let work = async |connection: &mut PgConnection| {
        lock_partition(connection, key).await?;
        match gaps_of(connection, key).await? {
            Some(gaps) if wait_first(connection, key, items).await? => {
                write_waiting(connection, key, items, gaps).await
            }
            _ => Ok(RetryOutcome::Changed),
        }
    };
    model.transaction(Durability::Durable, work).await
}

async fn write_waiting(
    connection: &mut PgConnection,
    key: &ConversationKey,
    items: &[Item],
    gaps: Gaps,
) -> Result<RetryOutcome, ReadModelError> {
    let mut groups = [group_items(key, items)];
    let before = digest::digests_of(connection, &groups).await?;
    write_isolated(connection, &mut groups, WriteMode::Rows(gaps)).await?;
    digest::advance(connection, &groups, before).await?;
    count_usage(connection, &groups).await?;
    let [group] = groups;
    let sequences = group.commits.iter().map(|commit| commit.position.sequence);
    let written: Vec<i64> = sequences.map(|sequence| signed(sequence.0)).collect();
    let arguments = bind(bind_key(key), written);
    execute(connection, include_str!("unpark_commits.sql"), arguments).await?;
    if let Some(reason) = group.newly_parked {
        let failed = group.queue.first().map_or(0, |sequence| signed(sequence.0));
        let arguments = bind(bind(bind_key(key), failed), reason.to_string());
        execute(connection, include_str!("repark_conversation.sql"), arguments).await?;
        return Ok(RetryOutcome::StillParked(reason));
    }
    let sql = include_str!("unpark_conversation.sql");
    Ok(match execute(connection, sql, bind_key(key)).await? {
        0 => RetryOutcome::Partial,
        _ => RetryOutcome::Freed,
    })
}

/// Whether versions may be missing; `None`: the conversation is not parked.
async fn gaps_of(connection: &mut PgConnection, key: &ConversationKey) -> Result<Option<Gaps>, ReadModelError> {
    let query = sqlx::query_with(include_str!("gaps.sql"), bind_key(key));
    let Some(row) = query.fetch_optional(connection).await? else {
        return Ok(None);
    };
    let accepted: bool = row.try_get(0)?;
    Ok(Some(if accepted { Gaps::Accepted } else { Gaps::Refused }))
}

/// Whether these are the first waiting commits.
async fn wait_first(
    connection: &mut PgConnection,
    key: &ConversationKey,
    items: &[Item],
) -> Result<bool, ReadModelError> {
    let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let arguments = bind(bind_key(key), count);
    let query = sqlx::query_with(include_str!("parked_commits.sql"), arguments);
    let waiting = sequences(&query.fetch_all(connection).await?)?;
    Ok(!items.is_empty() && items.iter().map(Item::sequence).eq(waiting))
}
