//! Advances the checkpoints of batches, and thereby locks them. All projections share the columns of their statements.

use std::collections::HashSet;

use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use wire::prefix::PrefixCommit;

use super::batch::{Batch, Item};
use super::lease::{Checkpoint, checkpoint_of};
use crate::arguments::{arguments, signed};
use crate::error::ReadModelError;

/// The batches in the order in which every statement locks checkpoints, which prevents deadlocks.
pub(crate) fn in_lock_order(batches: &[Batch]) -> Vec<&Batch> {
    let mut batches: Vec<&Batch> = batches.iter().collect();
    batches.sort_by_key(|batch| batch.lease.partition);
    batches
}

/// The first eight arguments of a fence: partitions, epochs, checkpoints before and after, the record, and the last commits as sequences,
/// ids and hash chains.
pub(crate) fn fence_arguments(batches: &[&Batch]) -> PgArguments {
    let column = |value: fn(&Batch) -> u64| -> Vec<i64> { batches.iter().map(|batch| signed(value(batch))).collect() };
    let partitions: Vec<i32> = batches.iter().map(|batch| partition(batch)).collect();
    let commits: Vec<Option<PrefixCommit>> = batches.iter().map(|batch| last_commit(batch)).collect();
    let sequences: Vec<_> = commits.iter().map(|commit| commit.map(|commit| signed(commit.sequence.0))).collect();
    let ids: Vec<_> = commits.iter().map(|commit| commit.map(|commit| commit.id.0)).collect();
    let chains: Vec<_> = commits.iter().map(|commit| commit.map(|commit| commit.chain.0.to_vec())).collect();
    arguments![
        partitions,
        column(|batch| batch.lease.epoch.0),
        column(|batch| batch.previous.0),
        column(|batch| batch.last.0),
        batches.first().map(|batch| batch.record.0.to_vec()),
        sequences,
        ids,
        chains,
    ]
}

/// The checkpoints of the batches that a fence has not advanced. `advanced`: its rows, whose first column is the partition.
pub(crate) async fn fenced(
    connection: &mut PgConnection,
    batches: &[Batch],
    advanced: &[PgRow],
) -> Result<Vec<Checkpoint>, ReadModelError> {
    let held: HashSet<i32> = advanced.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let fenced: Vec<i32> = batches.iter().map(partition).filter(|partition| !held.contains(partition)).collect();
    if fenced.is_empty() {
        return Ok(Vec::new());
    }
    let query = sqlx::query_with(include_str!("checkpoints.sql"), arguments![fenced]);
    query.fetch_all(connection).await?.iter().map(checkpoint_of).collect()
}

fn partition(batch: &Batch) -> i32 {
    i32::from(batch.lease.partition.0)
}

fn last_commit(batch: &Batch) -> Option<PrefixCommit> {
    batch.items.iter().rev().find_map(|item| match item {
        Item::Commit(stored) => Some(PrefixCommit::from(&**stored)),
        Item::Unreadable { .. } => None,
    })
}
