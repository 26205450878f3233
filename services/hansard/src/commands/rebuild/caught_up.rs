//! Waiting until a schema is nearly where the live one is.

use std::time::Duration;

use domain::Partition;
use read_model::ReadModel;
use read_model::projections::conversations::lease::{Checkpoint, checkpoints};
use runtime::shutdown::Shutdown;

use crate::progress::{Length, Progress, grouped};

/// Sequences that a partition may be behind the live schema's when it is compared: the rest is made up in a moment, while
/// nobody projects.
const LAG_MAX: u64 = 300;
/// How often both are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Waits until no partition of `other` is further behind than that.
pub(super) async fn caught_up(
    live: &ReadModel,
    other: &ReadModel,
    shutdown: &Shutdown,
) -> anyhow::Result<()> {
    let mut progress = Progress::begin("catch up", Length::Unknown);
    loop {
        let (ahead, behind) = (checkpoints(live).await?, checkpoints(other).await?);
        let lags = lags(&ahead, &behind);
        let total: u64 = lags.iter().map(|(_, lag)| *lag).sum();
        if lags.iter().all(|(_, lag)| *lag <= LAG_MAX) {
            progress.finish(&format!("{} commits behind", grouped(total)));
            return Ok(());
        }
        progress.advance(0, || format!("{} commits behind", grouped(total)));
        tokio::select! {
            () = tokio::time::sleep(LOOK_INTERVAL) => {}
            () = shutdown.begun() => anyhow::bail!("stopped: run it again to go on"),
        }
    }
}

/// How far each partition is behind.
fn lags(ahead: &[Checkpoint], behind: &[Checkpoint]) -> Vec<(Partition, u64)> {
    let lag = |one: &Checkpoint| {
        let partition = one.lease.partition;
        let other = behind
            .iter()
            .find(|other| other.lease.partition == partition);
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
    fn a_partition_that_is_not_there_has_not_begun() {
        let places = |places: &[u64]| -> Vec<Checkpoint> {
            let place = |(partition, sequence): (u16, &u64)| Checkpoint {
                lease: Lease {
                    partition: Partition(partition),
                    epoch: Epoch(1),
                },
                sequence: Sequence(*sequence),
            };
            (0..).zip(places).map(place).collect()
        };
        let check = |ahead: &[u64], behind: &[u64], expected: &[u64]| {
            let found = lags(&places(ahead), &places(behind));
            let found: Vec<u64> = found.into_iter().map(|(_, lag)| lag).collect();
            assert_eq!(found, expected);
        };
        check(&[5, 7], &[5, 4], &[0, 3]);
        check(&[5, 7], &[9], &[0, 7]);
        check(&[], &[9], &[]);
    }
}
