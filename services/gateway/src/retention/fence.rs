//! Waits until the rows hold all that is recorded now.

use std::time::Duration;

use domain::{Partition, Sequence};
use read_model::projections::conversations::lease::{self, Checkpoint};
use tokio::time::{Instant, sleep};

use super::{Means, RoundError};

/// How long it is from one look at them to the next.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Waits until the rows hold what the record holds now.
///
/// # Errors
/// [`RoundError::RowsBehind`] after `wait_max`; or record or rows cannot be looked at.
pub(super) async fn wait(means: &Means, wait_max: Duration) -> Result<(), RoundError> {
    let mut ends = Vec::new();
    for partition in (0..means.record.partitions()).map(Partition) {
        ends.push((partition, means.record.bounds_of(partition).await?.last));
    }
    let deadline = Instant::now() + wait_max;
    loop {
        let checkpoints = lease::checkpoints(&means.read_model).await?;
        if have_reached(&checkpoints, &ends) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(RoundError::RowsBehind);
        }
        sleep(LOOK_EVERY).await;
    }
}

fn have_reached(checkpoints: &[Checkpoint], ends: &[(Partition, Sequence)]) -> bool {
    ends.iter().all(|(partition, end)| {
        let of_partition = |checkpoint: &&Checkpoint| checkpoint.lease.partition == *partition;
        let reached = checkpoints.iter().find(of_partition);
        reached.map_or(Sequence(0), |checkpoint| checkpoint.sequence) >= *end
    })
}

#[cfg(test)]
mod tests {
    use read_model::projections::conversations::lease::{Epoch, Lease};

    use super::*;

    #[test]
    fn every_partition_must_be_reached() {
        let check = |reached: &[u64], ends: &[u64], expected: bool| {
            let numbered = |numbers: &[u64]| {
                let numbered = (0..)
                    .map(Partition)
                    .zip(numbers.iter().copied().map(Sequence));
                numbered.collect::<Vec<_>>()
            };
            let checkpoint = |(partition, sequence)| Checkpoint {
                lease: Lease {
                    partition,
                    epoch: Epoch(1),
                },
                sequence,
            };
            let checkpoints: Vec<_> = numbered(reached).into_iter().map(checkpoint).collect();
            assert_eq!(
                have_reached(&checkpoints, &numbered(ends)),
                expected,
                "{reached:?} {ends:?}"
            );
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
