//! Writes a batch: rows and checkpoints in one transaction.

use std::collections::HashSet;

use domain::ConversationKey;
use sqlx::Row as _;
use sqlx::postgres::PgConnection;
use thiserror::Error;

use super::batch::{Applied, Batch};
use super::conversation_rows::Gaps;
use super::digest::{self, full_change};
use super::erase_long::erase_long;
use super::fence::{fence_arguments, fenced, in_lock_order};
use super::group::{Group, group};
use super::isolate::write_isolated;
use super::lease::Checkpoint;
use super::parking;
use super::usage::count_usage;
use super::write::{WriteMode, write};
use super::write_failure::WriteFailure;
use crate::arguments::bind;
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};

/// Why a batch was not written. No part of it was.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ApplyError {
    /// These partitions have another epoch or checkpoint than the batch; the current ones are given. Leave the partitions
    /// out, or continue from the checkpoints.
    #[error("{} partitions of the batch have another lease or checkpoint", .0.len())]
    Fenced(Vec<Checkpoint>),
    /// The read model could not be written. After [`ReadModelError::Unavailable`] retry the same batch. If the connection
    /// was lost during the commit, the batch may be written: then the retry is fenced, and `sequence` is its `last`.
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
}

/// Writes batches of several partitions, at most one of each, and their checkpoints, in one transaction. Only the events of
/// long erased conversations are deleted before it, in transactions of their own.
///
/// # Errors
/// [`ApplyError`].
pub async fn apply(model: &ReadModel, batches: &[Batch]) -> Result<Applied, ApplyError> {
    erase_long(model, batches).await?;
    write_all(model, batches, WriteMode::Rows(Gaps::Refused)).await
}

/// Like [`apply()`], but for a schema that is being filled, whose large tables have no indexes yet: by `COPY` of many
/// thousands of rows. [`crate::schemas::SchemaBuild::build_conversations`] computes the rows of conversations at the end.
///
/// # Errors
/// [`ApplyError`].
pub async fn copy(model: &ReadModel, batches: &[Batch]) -> Result<Applied, ApplyError> {
    write_all(model, batches, WriteMode::Copy).await
}

async fn write_all(model: &ReadModel, batches: &[Batch], mode: WriteMode) -> Result<Applied, ApplyError> {
    let mut outcome = attempt(model, batches, mode, Strategy::Together).await;
    if matches!(outcome, Err(Failure::Content)) {
        outcome = attempt(model, batches, mode, Strategy::Isolated).await;
    }
    outcome.map_err(Failure::into_error)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strategy {
    /// All rows at once; fails as a whole.
    Together,
    /// In parts; parks the conversations that fail.
    Isolated,
}

/// Why an attempt failed.
enum Failure {
    /// The content of the batch cannot be written.
    Content,
    Final(ApplyError),
}

async fn attempt(
    model: &ReadModel,
    batches: &[Batch],
    mode: WriteMode,
    strategy: Strategy,
) -> Result<Applied, Failure> {
    let work = async |connection: &mut PgConnection| {
        let parked = fence(connection, batches).await?;
        let mut groups = group(batches, &parked);
        let before = digest::digests_of_erased(connection, &groups).await?;
        match strategy {
            Strategy::Together => write(connection, &groups, mode).await?,
            Strategy::Isolated => write_isolated(connection, &mut groups, mode).await?,
        }
        parking::park(connection, &groups).await?;
        digest::correct(connection, batches, &groups, before).await?;
        count_usage(connection, &groups).await?;
        Ok(applied(&groups))
    };
    model.transaction(Durability::Repeatable, work).await
}

/// Advances and thereby locks the checkpoints. Returns the conversations of the batches that are parked.
async fn fence(connection: &mut PgConnection, batches: &[Batch]) -> Result<HashSet<ConversationKey>, Failure> {
    let ordered = in_lock_order(batches);
    let changes: Vec<String> = ordered.iter().map(|batch| full_change(&batch.items).to_string()).collect();
    let arguments = bind(fence_arguments(&ordered), changes);
    let advanced = sqlx::query_with(include_str!("fence.sql"), arguments).fetch_all(&mut *connection).await?;
    let fenced = fenced(connection, batches, &advanced).await?;
    if !fenced.is_empty() {
        return Err(Failure::Final(ApplyError::Fenced(fenced)));
    }
    let mut some_parked = false;
    for row in &advanced {
        some_parked |= row.try_get::<bool, _>(1)?;
    }
    if !some_parked {
        return Ok(HashSet::new());
    }
    Ok(parking::parked_among(connection, batches).await?)
}

fn applied(groups: &[Group<'_>]) -> Applied {
    let written = |group: &&Group<'_>| !group.commits.is_empty();
    let kept = groups.iter().filter(|group| !group.is_erased());
    let commits = kept.flat_map(|group| &group.commits);
    Applied {
        events: commits.map(|commit| commit.opened.commit.events.len()).sum(),
        conversations: groups.iter().filter(written).count(),
        queued: groups.iter().map(|group| group.queue.len()).sum(),
        parked: groups.iter().filter_map(Group::parked).collect(),
    }
}

impl Failure {
    fn into_error(self) -> ApplyError {
        match self {
            Self::Final(error) => error,
            // `write_isolated` parks failing content, so only the statements of parking can get here.
            Self::Content => ApplyError::ReadModel(ReadModelError::Refused { sqlstate: "22000".to_owned() }),
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
