//! A batch, written: rows and checkpoints in one transaction.

use std::collections::HashSet;

use domain::ConversationKey;
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgConnection};
use thiserror::Error;

use super::batch::{Applied, Batch};
use super::conversation_rows::Gaps;
use super::digest::{self, presumed};
use super::erase_ahead::erase_ahead;
use super::group::{Group, group};
use super::isolate::write_isolated;
use super::lease::{Checkpoint, checkpoint_of};
use super::parking;
use super::usage::count_usage;
use super::write::{Means, write};
use super::write_failure::WriteFailure;
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};
use crate::queries::{bind, signed};

/// Why a batch was not written. Nothing of it was.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ApplyError {
    /// These partitions are of another epoch, or not where the batch begins, but here: leave them out, or begin again.
    #[error("{} of the batch's partitions are not ours, or not at its beginning", .0.len())]
    Fenced(Vec<Checkpoint>),
    /// The read model could not be written; on [`ReadModelError::Unavailable`] the same batch may be tried again. It may
    /// have been written when the connection was lost at the very end: then the next try is fenced, with `sequence` at the
    /// batch's `last`.
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
}

/// Writes batches of several partitions, at most one of each, and their checkpoints: all, in one transaction, or nothing. Only
/// the events of long conversations that are erased go before it, in transactions of their own.
///
/// # Errors
/// [`ApplyError`].
pub async fn apply(model: &ReadModel, batches: &[Batch]) -> Result<Applied, ApplyError> {
    erase_ahead(model, batches).await?;
    write_all(model, batches, Means::Rows(Gaps::Refused)).await
}

/// The same for a schema that is being filled, whose large tables have no indexes yet: by COPY, many thousands of rows at a
/// time. What a conversation comes to is put together at the end, by [`crate::schemas::Building::place`].
///
/// # Errors
/// [`ApplyError`].
pub async fn copy(model: &ReadModel, batches: &[Batch]) -> Result<Applied, ApplyError> {
    write_all(model, batches, Means::Copy).await
}

async fn write_all(
    model: &ReadModel,
    batches: &[Batch],
    means: Means,
) -> Result<Applied, ApplyError> {
    match attempt(model, batches, means, Effort::Together).await {
        Err(Failure::Content) => {}
        outcome => return outcome.map_err(Failure::into_error),
    }
    attempt(model, batches, means, Effort::Isolated)
        .await
        .map_err(Failure::into_error)
}

/// How much to write at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effort {
    /// All at once, which fails as a whole.
    Together,
    /// By parts, leaving out what fails.
    Isolated,
}

/// Why an attempt failed.
enum Failure {
    /// Something in the batch cannot be written.
    Content,
    Final(ApplyError),
}

async fn attempt(
    model: &ReadModel,
    batches: &[Batch],
    means: Means,
    effort: Effort,
) -> Result<Applied, Failure> {
    model
        .transaction(
            Durability::Repeatable,
            async |connection: &mut PgConnection| {
                let parked = fence(connection, batches).await?;
                let mut groups = group(batches, &parked);
                let left = digest::left_by_erased(connection, &groups).await?;
                match effort {
                    Effort::Together => write(connection, &groups, means).await?,
                    Effort::Isolated => {
                        write_isolated(connection, &mut groups, means).await?;
                    }
                }
                parking::park(connection, &groups).await?;
                digest::correct(connection, batches, &groups, left).await?;
                count_usage(connection, &groups).await?;
                Ok(applied(&groups))
            },
        )
        .await
}

/// Moves the checkpoints on, and locks them by that; the conversations that are parked in their partitions.
async fn fence(
    connection: &mut PgConnection,
    batches: &[Batch],
) -> Result<HashSet<ConversationKey>, Failure> {
    let sql = include_str!("fence.sql");
    let moved = sqlx::query_with(sql, fence_arguments(batches))
        .fetch_all(&mut *connection)
        .await?;
    let mut held = HashSet::new();
    let mut some_parked = false;
    for row in &moved {
        held.insert(row.try_get::<i32, _>(0)?);
        some_parked |= row.try_get::<bool, _>(1)?;
    }
    let wanted = batches
        .iter()
        .map(|batch| i32::from(batch.lease.partition.0));
    let fenced: Vec<i32> = wanted
        .filter(|partition| !held.contains(partition))
        .collect();
    if !fenced.is_empty() {
        return Err(Failure::Final(ApplyError::Fenced(
            present(connection, fenced).await?,
        )));
    }
    if !some_parked {
        return Ok(HashSet::new());
    }
    Ok(parking::parked_among(connection, batches).await?)
}

fn fence_arguments(batches: &[Batch]) -> PgArguments {
    let mut batches: Vec<&Batch> = batches.iter().collect();
    // In one order everywhere, so that two who want the same rows do not wait for each other.
    batches.sort_by_key(|batch| batch.lease.partition);
    let column = |value: fn(&Batch) -> u64| -> Vec<i64> {
        batches.iter().map(|batch| signed(value(batch))).collect()
    };
    let partitions: Vec<i32> = batches
        .iter()
        .map(|batch| i32::from(batch.lease.partition.0))
        .collect();
    let arguments = bind(PgArguments::default(), partitions);
    let arguments = bind(arguments, column(|batch| batch.lease.epoch.0));
    let arguments = bind(arguments, column(|batch| batch.previous.0));
    let arguments = bind(arguments, column(|batch| batch.last.0));
    let changes: Vec<String> = batches
        .iter()
        .map(|batch| presumed(&batch.items).to_string())
        .collect();
    bind(arguments, changes)
}

/// Where the partitions stand instead.
async fn present(
    connection: &mut PgConnection,
    partitions: Vec<i32>,
) -> Result<Vec<Checkpoint>, Failure> {
    let query = sqlx::query_with(
        include_str!("checkpoints.sql"),
        bind(PgArguments::default(), partitions),
    );
    let rows = query.fetch_all(connection).await?;
    let checkpoints: Result<_, _> = rows.iter().map(checkpoint_of).collect();
    Ok(checkpoints?)
}

fn applied(groups: &[Group<'_>]) -> Applied {
    let written = |group: &&Group<'_>| !group.commits.is_empty();
    let events_of = |group: &Group<'_>| -> usize {
        group
            .commits
            .iter()
            .map(|commit| commit.opened.commit.events.len())
            .sum()
    };
    Applied {
        events: groups
            .iter()
            .filter(|group| !group.is_erased())
            .map(events_of)
            .sum(),
        conversations: groups.iter().filter(written).count(),
        queued: groups.iter().map(|group| group.queue.len()).sum(),
        parked: groups.iter().filter_map(Group::parked).collect(),
    }
}

impl Failure {
    fn into_error(self) -> ApplyError {
        match self {
            Self::Final(error) => error,
            // Isolated writes take care of content themselves; only the bookkeeping of parking is left to refuse.
            Self::Content => ReadModelError::Refused {
                sqlstate: "22000".to_owned(),
            }
            .into(),
        }
    }
}

impl From<ReadModelError> for Failure {
    fn from(error: ReadModelError) -> Self {
        Self::Final(error.into())
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Final(ReadModelError::from(error).into())
    }
}

impl From<WriteFailure> for Failure {
    fn from(failure: WriteFailure) -> Self {
        match failure {
            WriteFailure::Content(_) => Self::Content,
            WriteFailure::Other(error) => error.into(),
        }
    }
}
