//! The lag of rows and search in the last minutes, for the System page: sampled by this gateway, in memory.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::{Partition, Sequence, Timestamp};
use event_log::Record;
use futures::future::join_all;
use read_model::ReadModel;
use read_model::projections::conversations::overview::overview_by_reader;
use read_model::projections::search::search_overview;
use runtime::clock::Clock;
use runtime::every::every;

/// Interval between two samples.
pub const SAMPLE_EVERY: Duration = Duration::from_secs(10);
/// Maximum number of samples: half an hour.
pub const SAMPLES_MAX: usize = 180;

/// The lag at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LagSample {
    /// When it was read.
    pub at: Timestamp,
    /// Messages without rows of conversations, of all partitions, including holes; in the database that lags most.
    pub rows: u64,
    /// Messages that are not indexed for the search, as above.
    pub search: u64,
}

/// The last samples. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct LagSamples(Arc<Mutex<VecDeque<LagSample>>>);

impl LagSamples {
    /// The samples, in order.
    #[must_use]
    pub fn list(&self) -> Vec<LagSample> {
        let samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        samples.iter().copied().collect()
    }

    /// Adds a sample; the oldest one goes beyond [`SAMPLES_MAX`].
    fn push(&self, sample: LagSample) {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.len() >= SAMPLES_MAX {
            samples.pop_front();
        }
        samples.push_back(sample);
    }

    /// Samples until its task is aborted. A sample is left out while record or rows do not answer.
    pub async fn run(self, record: Record, model: ReadModel, clock: Clock) -> Infallible {
        let mut rounds = every(SAMPLE_EVERY);
        loop {
            rounds.next().await;
            if let Some((rows, search)) = largest_lag(&record, &model).await {
                let at = Timestamp(clock.now_nanos());
                self.push(LagSample { at, rows, search });
            }
        }
    }
}

/// The largest lag of rows and of the search of all databases.
async fn largest_lag(record: &Record, model: &ReadModel) -> Option<(u64, u64)> {
    let databases = model.databases();
    let reads = databases.iter().map(|database| lag(record, database));
    let lags: Option<Vec<_>> = join_all(reads).await.into_iter().collect();
    let larger = |(rows, search): (u64, u64), (more_rows, more_search)| (rows.max(more_rows), search.max(more_search));
    lags?.into_iter().reduce(larger)
}

/// The lag of rows and of the search. The rows are read first, so that the record is never behind them.
async fn lag(record: &Record, model: &ReadModel) -> Option<(u64, u64)> {
    let rows: Vec<_> =
        overview_by_reader(model).await.ok()?.partitions.iter().map(|one| (one.partition, one.checkpoint)).collect();
    let search = search_overview(model).await.ok()?.checkpoints;
    let ends = record.ends().await.ok()?;
    let behind = |checkpoints: &[(Partition, Sequence)]| {
        let lags = ends.iter().map(|end| {
            let mut checkpoints = checkpoints.iter();
            let found = checkpoints.find(|(partition, _)| *partition == end.partition);
            let checkpoint = found.map_or(0, |(_, sequence)| sequence.0);
            end.sequence.0.saturating_sub(checkpoint)
        });
        lags.fold(0, u64::saturating_add)
    };
    Some((behind(&rows), behind(&search)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_sample_goes_first() {
        let samples = LagSamples::default();
        let count = i64::try_from(SAMPLES_MAX).unwrap();
        for at in 0..=count {
            samples.push(LagSample { at: Timestamp(at), rows: 0, search: 0 });
        }
        let samples = samples.list();
        assert_eq!(samples.len(), SAMPLES_MAX);
        assert_eq!(samples[0].at, Timestamp(1));
        assert_eq!(samples[SAMPLES_MAX - 1].at, Timestamp(count));
    }
}
