//! How far each held partition is projected, and what waits: what lag is told from.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::{Partition, Sequence, Timestamp};
use event_log::Record;
use read_model::ReadModel;
use read_model::projections::conversations::parking;
use runtime::clock::Clock;

use crate::metrics;

/// How often lag is told.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Where a partition stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The last sequence that the rows hold.
    pub(crate) written: Sequence,
    /// When the oldest message that was read and not written yet was stored.
    pub(crate) waiting_since: Option<Timestamp>,
}

/// The places of the held partitions. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress(Arc<Mutex<HashMap<Partition, Place>>>);

impl Progress {
    pub(crate) fn set(&self, partition: Partition, place: Place) {
        self.with(|places| places.insert(partition, place));
    }

    pub(crate) fn remove(&self, partition: Partition) {
        self.with(|places| places.remove(&partition));
        metrics::lag(partition, 0, Duration::ZERO);
    }

    /// Says that a message waits, unless an older one does.
    pub(crate) fn waits(&self, partition: Partition, since: Timestamp) {
        self.with(|places| {
            if let Some(place) = places.get_mut(&partition) {
                place.waiting_since.get_or_insert(since);
            }
        });
    }

    /// How far a partition is written, as far as this projector knows.
    pub(crate) fn written(&self, partition: Partition) -> Option<Sequence> {
        self.with(|places| places.get(&partition).map(|place| place.written))
    }

    fn with<T>(&self, change: impl FnOnce(&mut HashMap<Partition, Place>) -> T) -> T {
        // Each change is whole at every unlock.
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells lag and what is parked, for ever.
    pub(crate) async fn report(self, record: Record, model: ReadModel, clock: Clock) {
        let mut lost = HashMap::new();
        loop {
            let places: Vec<_> =
                self.with(|places| places.iter().map(|(at, place)| (*at, *place)).collect());
            for (partition, place) in places {
                if let Ok(bounds) = record.bounds_of(partition).await {
                    let (sequences, age) = lag(place, bounds.last, Timestamp(clock.now_nanos()));
                    metrics::lag(partition, sequences, age);
                    tell_lost(&mut lost, partition, missing(place, bounds.last));
                }
            }
            if let Ok(count) = parking::count(&model).await {
                metrics::parked(count);
            }
            tokio::time::sleep(REPORT_INTERVAL).await;
        }
    }
}

/// Sequences that the rows hold and the record does not: it was cut short, by a disk that gave back less than it took.
fn missing(place: Place, last: Sequence) -> u64 {
    place.written.0.saturating_sub(last.0)
}

/// Says it once when it begins, and keeps it in view.
fn tell_lost(lost: &mut HashMap<Partition, u64>, partition: Partition, missing: u64) {
    metrics::lost(partition, missing);
    let known = lost.insert(partition, missing).unwrap_or(0);
    if missing > 0 && known == 0 {
        tracing::error!(
            %partition, missing,
            "the record ends before the rows do: what was acknowledged is lost; stop the writers and restore it"
        );
    }
}

/// Sequences between the rows and the record's last, and the age of the oldest message among them that was read.
fn lag(place: Place, last: Sequence, now: Timestamp) -> (u64, Duration) {
    let sequences = last.0.saturating_sub(place.written.0);
    let age = place
        .waiting_since
        .map_or(0, |since| now.0.saturating_sub(since.0));
    let age = Duration::from_nanos(u64::try_from(age).unwrap_or(0));
    (sequences, if sequences == 0 { Duration::ZERO } else { age })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: u64, waiting_since: Option<i64>, expected: (u64, u64)) {
        let place = Place {
            written: Sequence(written),
            waiting_since: waiting_since.map(Timestamp),
        };
        let (sequences, age) = lag(place, Sequence(10), Timestamp(1_000));
        assert_eq!(
            (sequences, age),
            (expected.0, Duration::from_nanos(expected.1))
        );
    }

    #[test]
    fn a_record_that_was_cut_short_is_seen() {
        let check = |written, expected| {
            let place = Place {
                written: Sequence(written),
                waiting_since: None,
            };
            assert_eq!(missing(place, Sequence(10)), expected, "{written}");
        };
        check(9, 0);
        check(10, 0);
        check(11, 1);
    }

    #[test]
    fn lag_is_what_the_rows_do_not_hold_yet() {
        check(10, None, (0, 0));
        check(7, Some(400), (3, 600));
        check(7, None, (3, 0));
        check(10, Some(400), (0, 0));
        check(7, Some(2_000), (3, 0));
    }
}
