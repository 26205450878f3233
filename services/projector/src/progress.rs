//! The progress of each held partition, for the metrics of lag.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::{Partition, Sequence, Timestamp};
use event_log::Record;
use read_model::ReadModel;
use read_model::projections::conversations::parking;
use runtime::clock::Clock;
use runtime::every::every;

use crate::metrics;
use crate::projection_kind::ProjectionKind;

/// Interval between reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartitionProgress {
    /// The last sequence that the rows contain.
    pub(crate) written: Sequence,
    /// When the oldest message that is read and not yet written was stored.
    pub(crate) waiting_since: Option<Timestamp>,
}

/// The progress of the held partitions of a projection. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    kind: ProjectionKind,
    partitions: Arc<Mutex<HashMap<Partition, PartitionProgress>>>,
}

impl Progress {
    pub(crate) fn new(kind: ProjectionKind) -> Self {
        Self { kind, partitions: Arc::default() }
    }

    pub(crate) fn set(&self, partition: Partition, progress: PartitionProgress) {
        self.with(|partitions| partitions.insert(partition, progress));
    }

    /// Forgets a partition that another projector may hold now, and resets its metrics.
    pub(crate) fn remove(&self, partition: Partition) {
        self.with(|partitions| {
            partitions.remove(&partition);
            metrics::lag((self.kind, partition), 0, Duration::ZERO);
        });
    }

    /// Sets the time of the oldest waiting message, unless it is set.
    pub(crate) fn set_waiting(&self, partition: Partition, since: Timestamp) {
        self.with(|partitions| {
            if let Some(progress) = partitions.get_mut(&partition) {
                progress.waiting_since.get_or_insert(since);
            }
        });
    }

    /// The last written sequence that this projector knows.
    pub(crate) fn written(&self, partition: Partition) -> Option<Sequence> {
        self.with(|partitions| partitions.get(&partition).map(|progress| progress.written))
    }

    fn with<T>(&self, change: impl FnOnce(&mut HashMap<Partition, PartitionProgress>) -> T) -> T {
        // Every change is complete at unlock, so a poisoned lock is safe to use.
        change(&mut self.partitions.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reports lag and parked conversations periodically.
    pub(crate) async fn report(self, record: Record, model: ReadModel, clock: Clock) -> Infallible {
        let mut rounds = every(REPORT_INTERVAL);
        loop {
            rounds.next().await;
            let partitions: Vec<Partition> = self.with(|partitions| partitions.keys().copied().collect());
            for partition in partitions {
                if let Ok(bounds) = record.bounds_of(partition).await {
                    self.report_one(partition, bounds.last, Timestamp(clock.now_nanos()));
                }
            }
            if self.kind == ProjectionKind::Conversations
                && let Ok(count) = parking::count(&model).await
            {
                metrics::parked(count);
            }
        }
    }

    /// Reports a partition whose record ends at `end`, unless it was removed meanwhile.
    fn report_one(&self, partition: Partition, end: Sequence, now: Timestamp) {
        self.with(|partitions| {
            let Some(progress) = partitions.get(&partition) else { return };
            let (sequences, age) = lag(*progress, end, now);
            metrics::lag((self.kind, partition), sequences, age);
        });
    }
}

/// The number of sequences between the checkpoint and the end of the record, and the age of the oldest read message in it.
fn lag(progress: PartitionProgress, last: Sequence, now: Timestamp) -> (u64, Duration) {
    let sequences = last.0.saturating_sub(progress.written.0);
    let age_ns = progress.waiting_since.map_or(0, |since| now.0.saturating_sub(since.0));
    let age = Duration::from_nanos(u64::try_from(age_ns).unwrap_or(0));
    (sequences, if sequences == 0 { Duration::ZERO } else { age })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: u64, waiting_since: Option<i64>, expected: (u64, u64)) {
        let progress = PartitionProgress { written: Sequence(written), waiting_since: waiting_since.map(Timestamp) };
        let (sequences, age) = lag(progress, Sequence(10), Timestamp(1_000));
        assert_eq!((sequences, age), (expected.0, Duration::from_nanos(expected.1)));
    }

    #[test]
    fn a_partition_that_leaves_has_no_lag() {
        let metrics = runtime::metrics::install().unwrap();
        let partition = Partition(4_000);
        let check = |expected: u64| {
            let line = format!(
                "hansard_projector_lag_sequences{{partition=\"{partition}\",projection=\"search\"}} {expected}"
            );
            let rendered = metrics.render();
            assert!(rendered.lines().any(|found| found == line), "{line} is not in {rendered}");
        };
        let progress = Progress::new(ProjectionKind::Search);
        let report = |last| progress.report_one(partition, Sequence(last), Timestamp(0));
        progress.set(partition, PartitionProgress { written: Sequence(12), waiting_since: None });
        report(15);
        check(3);
        progress.remove(partition);
        check(0);
        // A report that began before the partition left.
        report(15);
        check(0);
    }

    #[test]
    fn lag_counts_sequences_without_rows() {
        check(10, None, (0, 0));
        check(7, Some(400), (3, 600));
        check(7, None, (3, 0));
        check(10, Some(400), (0, 0));
        check(7, Some(2_000), (3, 0));
    }
}
