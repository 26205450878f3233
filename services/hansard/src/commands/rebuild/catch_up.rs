//! Waits until a schema has almost caught up with the live one.

use std::time::Duration;

use domain::Partition;
use read_model::ReadModel;
use read_model::projections::conversations::lease::{Checkpoint, checkpoints};
use runtime::shutdown::Shutdown;

use crate::progress::{Length, Progress, grouped};

/// The maximum lag of a partition, in sequences, at which schemas are compared. The switch projects the rest while the
/// projectors are paused.
const LAG_MAX: u64 = 300;
/// The interval between two checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Waits until no partition of `other` lags by more than [`LAG_MAX`].
pub(super) async fn catch_up(live: &ReadModel, other: &ReadModel, shutdown: &Shutdown) -> anyhow::Result<()> {
    let mut progress = Progress::begin("catch up", Length::Unknown);
    loop {
        let (ahead, behind) = (checkpoints(live).await?, checkpoints(other).await?);
        let lags = lags(&ahead, &behind);
        let total: u64 = lags.iter().map(|(_, lag)| *lag).sum();
        if lags.iter().all(|(_, lag)| *lag <= LAG_MAX) {
            progress.finish(&format!("{} commits of lag", grouped(total)));
            return Ok(());
        }
        progress.advance(0, || format!("{} commits of lag", grouped(total)));
        tokio::select! {
            () = tokio::time::sleep(CHECK_INTERVAL) => {}
            () = shutdown.begun() => anyhow::bail!("stopped: run the same command again to resume"),
        }
    }
}

/// The lag of each partition.
fn lags(ahead: &[Checkpoint], behind: &[Checkpoint]) -> Vec<(Partition, u64)> {
    let lag = |one: &Checkpoint| {
        let partition = one.lease.partition;
        let mut others = behind.iter();
        let other = others.find(|other| other.lease.partition == partition);
        let reached = other.map_or(0, |other| other.sequence.0);
        (partition, one.sequence.0.saturating_sub(reached))
    };
    ahead.iter().map(lag).collect()
}

#[cfg(test)]
mod tests {
    use domain::Sequence;
    use read_model::projections::conversations::lease::{Epoch, Lease};

    use super::*;

    #[test]
    fn a_partition_without_a_checkpoint_starts_at_zero() {
        let checkpoints_at = |checkpoints_at: &[u64]| -> Vec<Checkpoint> {
            let checkpoint = |(partition, sequence): (u16, &u64)| Checkpoint {
                lease: Lease { partition: Partition(partition), epoch: Epoch(1) },
                sequence: Sequence(*sequence),
            };
            (0..).zip(checkpoints_at).map(checkpoint).collect()
        };
        let check = |ahead: &[u64], behind: &[u64], expected: &[u64]| {
            let found: Vec<u64> =
                lags(&checkpoints_at(ahead), &checkpoints_at(behind)).into_iter().map(|(_, lag)| lag).collect();
            assert_eq!(found, expected);
        };
        check(&[5, 7], &[5, 4], &[0, 3]);
        check(&[5, 7], &[9], &[0, 7]);
        check(&[], &[9], &[]);
    }
}
