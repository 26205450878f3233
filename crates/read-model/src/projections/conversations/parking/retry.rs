//! Trying again.

use domain::{ConversationKey, Sequence};
use sqlx::Row as _;
use sqlx::postgres::PgConnection;

use super::super::batch::{Item, ParkReason};
use super::super::conversation_rows::Gaps;
use super::super::digest;
use super::super::group::group_of;
use super::super::isolate::write_isolated;
use super::super::usage::count_usage;
use super::super::write::Means;
use super::list::sequence_of;
use super::{bind_key, lock_partition};
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};
use crate::queries::{bind, signed};

/// What became of a retry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retried {
    /// Nothing waits any more: the conversation is served whole, and goes on.
    Freed,
    /// All that was given is written; more waits.
    MoreWaits,
    /// It still cannot be projected.
    StillParked(ParkReason),
    /// It is not parked, or other commits wait first: look again.
    Changed,
}

/// Writes a parked conversation's first waiting commits, as read from the record again: `items`, in order, at least one.
///
/// # Errors
/// [`ReadModelError::Unavailable`]; nothing has changed then.
pub async fn retry(
    model: &ReadModel,
    key: &ConversationKey,
    items: &[Item],
) -> Result<Retried, ReadModelError> {
    model
        .transaction(
            Durability::Durable,
            async |connection: &mut PgConnection| {
                lock_partition(connection, key).await?;
                match gaps_of(connection, key).await? {
                    Some(gaps) if waits_first(connection, key, items).await? => {
                        write_waiting(connection, key, items, gaps).await
                    }
                    _ => Ok(Retried::Changed),
                }
            },
        )
        .await
}

async fn write_waiting(
    connection: &mut PgConnection,
    key: &ConversationKey,
    items: &[Item],
    gaps: Gaps,
) -> Result<Retried, ReadModelError> {
    let mut groups = [group_of(key, items)];
    let left = digest::left_by(connection, &groups).await?;
    write_isolated(connection, &mut groups, Means::Rows(gaps)).await?;
    digest::move_on(connection, &groups, left).await?;
    count_usage(connection, &groups).await?;
    let [group] = groups;
    let written: Vec<i64> = group
        .commits
        .iter()
        .map(|commit| signed(commit.position.sequence.0))
        .collect();
    let query = sqlx::query_with(
        include_str!("unpark_commits.sql"),
        bind(bind_key(key), written),
    );
    query.execute(&mut *connection).await?;
    if let Some(reason) = group.newly_parked {
        let failed = group.queue.first().map_or(0, |sequence| signed(sequence.0));
        let arguments = bind(bind(bind_key(key), failed), reason.to_string());
        let query = sqlx::query_with(include_str!("repark_conversation.sql"), arguments);
        query.execute(connection).await?;
        return Ok(Retried::StillParked(reason));
    }
    let query = sqlx::query_with(include_str!("unpark_conversation.sql"), bind_key(key));
    let freed = query.execute(connection).await?.rows_affected() > 0;
    Ok(if freed {
        Retried::Freed
    } else {
        Retried::MoreWaits
    })
}

/// Whether versions may be missing; `None` when the conversation is not parked.
async fn gaps_of(
    connection: &mut PgConnection,
    key: &ConversationKey,
) -> Result<Option<Gaps>, ReadModelError> {
    let query = sqlx::query_with(include_str!("gaps.sql"), bind_key(key));
    let Some(row) = query.fetch_optional(connection).await? else {
        return Ok(None);
    };
    let accepted: bool = row.try_get(0)?;
    Ok(Some(if accepted {
        Gaps::Accepted
    } else {
        Gaps::Refused
    }))
}

/// Whether these are the commits that wait first.
async fn waits_first(
    connection: &mut PgConnection,
    key: &ConversationKey,
    items: &[Item],
) -> Result<bool, ReadModelError> {
    let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let query = sqlx::query_with(
        include_str!("parked_commits.sql"),
        bind(bind_key(key), count),
    );
    let rows = query.fetch_all(connection).await?;
    let waiting: Vec<Sequence> = rows
        .iter()
        .map(|row| Ok(sequence_of(row.try_get(0)?)))
        .collect::<Result<_, ReadModelError>>()?;
    Ok(!items.is_empty() && items.iter().map(Item::sequence).eq(waiting))
}
