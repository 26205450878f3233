//! Finding what cannot be written: halves, then conversations, then commits.

use sqlx::Executor as _;
use sqlx::postgres::PgConnection;

use super::batch::ParkReason;
use super::group::Group;
use super::write::{Means, write};
use super::write_failure::WriteFailure;
use crate::error::ReadModelError;

/// Writes all of the groups that can be written, and parks the others from their first commit that cannot.
///
/// Conversations do not depend on each other, so a failing half is split until one is left: a bad conversation among n
/// costs about 2·log2(n) writes.
pub(super) async fn write_isolated(
    connection: &mut PgConnection,
    groups: &mut [Group<'_>],
    means: Means,
) -> Result<(), ReadModelError> {
    let mut parts = vec![groups];
    while let Some(part) = parts.pop() {
        if try_write(connection, part, means).await?.is_none() {
            continue;
        }
        if let [group] = part {
            write_commits(connection, group, means).await?;
        } else {
            let (left, right) = part.split_at_mut(part.len() / 2);
            parts.extend([right, left]);
        }
    }
    Ok(())
}

/// Writes a group's commits one by one, and parks it at the first that fails.
async fn write_commits(
    connection: &mut PgConnection,
    group: &mut Group<'_>,
    means: Means,
) -> Result<(), ReadModelError> {
    for index in 0..group.commits.len() {
        let Some(commit) = group.commits.get(index) else {
            break;
        };
        let one = group.only(commit);
        if let Some(reason) = try_write(connection, &[one], means).await? {
            group.park_from(index, reason);
        }
    }
    Ok(())
}

/// Writes the groups or leaves no trace; why they could not be written.
async fn try_write(
    connection: &mut PgConnection,
    groups: &[Group<'_>],
    means: Means,
) -> Result<Option<ParkReason>, ReadModelError> {
    connection.execute("SAVEPOINT part").await?;
    match write(connection, groups, means).await {
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
