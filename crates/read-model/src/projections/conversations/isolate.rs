//! Finds the commits that cannot be written, by bisection: groups of conversations, then conversations, then commits.

use sqlx::Executor as _;
use sqlx::postgres::PgConnection;

use super::batch::ParkReason;
use super::group::Group;
use super::write::{WriteMode, write};
use super::write_failure::WriteFailure;
use crate::error::ReadModelError;

/// Writes the groups that can be written, and parks the others from their first failing commit on.
///
/// Conversations are independent, so a failing half is split until one conversation remains: one bad conversation among n
/// costs about 2·log2(n) writes.
pub(super) async fn write_isolated(
    connection: &mut PgConnection,
    groups: &mut [Group<'_>],
    mode: WriteMode,
) -> Result<(), ReadModelError> {
    let mut parts = vec![groups];
    while let Some(part) = parts.pop() {
        if try_write(connection, part, mode).await?.is_none() {
            continue;
        }
        if let [group] = part {
            write_commits(connection, group, mode).await?;
        } else {
            let (left, right) = part.split_at_mut(part.len() / 2);
            parts.extend([right, left]);
        }
    }
    Ok(())
}

/// Writes the commits of a group one by one, and parks it at the first failure.
async fn write_commits(
    connection: &mut PgConnection,
    group: &mut Group<'_>,
    mode: WriteMode,
) -> Result<(), ReadModelError> {
    for index in 0..group.commits.len() {
        let Some(commit) = group.commits.get(index) else {
            break;
        };
        let one = group.with_only(commit);
        if let Some(reason) = try_write(connection, &[one], mode).await? {
            group.park_from(index, reason);
        }
    }
    Ok(())
}

/// Writes the groups, or rolls back and returns the reason.
async fn try_write(
    connection: &mut PgConnection,
    groups: &[Group<'_>],
    mode: WriteMode,
) -> Result<Option<ParkReason>, ReadModelError> {
    connection.execute("SAVEPOINT part").await?;
    match write(connection, groups, mode).await {
        Ok(()) => {
            connection.execute("RELEASE SAVEPOINT part").await?;
            Ok(None)
        }
        Err(WriteFailure::Content(reason)) => {
            connection.execute("ROLLBACK TO SAVEPOINT part").await?;
            Ok(Some(reason))
        }
        Err(WriteFailure::Other(error)) => Err(error),
    }
}
