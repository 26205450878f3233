//! Waits until the rows contain recorded positions, for reads that use only the rows, such as listings.

use std::time::Duration;

use domain::{Position, Sequence, Timestamp};
use sqlx::Row as _;
use sqlx::postgres::PgArguments;
use tokio::time::{Instant, sleep};

use super::lease::{Checkpoint, checkpoints};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::pg_timestamp::PgTimestamp;

/// Interval between reads of the checkpoints.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Waits until the checkpoints reach the positions; `false`: not within `wait_max`. Rows do not contain parked commits.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn wait_until_reached(
    model: &ReadModel,
    positions: &[Position],
    wait_max: Duration,
) -> Result<bool, ReadModelError> {
    let deadline = Instant::now() + wait_max;
    loop {
        if have_reached(&checkpoints(model).await?, positions) {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// The last time at which every partition was projected; `None`: a partition never was.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn projected_until(model: &ReadModel) -> Result<Option<Timestamp>, ReadModelError> {
    let sql = "SELECT min(updated_at) FROM checkpoint";
    let rows = model.fetch(sql, PgArguments::default).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let at: Option<PgTimestamp> = row.try_get(0)?;
    Ok(at.map(|at| at.with_nanos(0)))
}

fn have_reached(checkpoints: &[Checkpoint], positions: &[Position]) -> bool {
    positions.iter().all(|position| {
        let mut checkpoints = checkpoints.iter();
        let reached = checkpoints.find(|one| one.lease.partition == position.partition);
        reached.map_or(Sequence(0), |checkpoint| checkpoint.sequence) >= position.sequence
    })
}

#[cfg(test)]
mod tests {
    use domain::Partition;

    use super::super::lease::{Epoch, Lease};
    use super::*;

    #[test]
    fn every_partition_must_be_reached() {
        let check = |reached: &[u64], ends: &[u64], expected: bool| {
            let positions = |numbers: &[u64]| {
                let positions = (0..).zip(numbers).map(|(partition, sequence)| Position {
                    partition: Partition(partition),
                    sequence: Sequence(*sequence),
                });
                positions.collect::<Vec<_>>()
            };
            let checkpoint = |position: Position| Checkpoint {
                lease: Lease { partition: position.partition, epoch: Epoch(1) },
                sequence: position.sequence,
            };
            let checkpoints: Vec<_> = positions(reached).into_iter().map(checkpoint).collect();
            assert_eq!(have_reached(&checkpoints, &positions(ends)), expected, "{reached:?} {ends:?}");
        };
        check(&[], &[], true);
        check(&[], &[0], true);
        check(&[], &[1], false);
        check(&[5, 7], &[5, 7], true);
        check(&[5, 8], &[5, 7], true);
        check(&[5, 6], &[5, 7], false);
        check(&[5], &[5, 7], false);
    }
}
