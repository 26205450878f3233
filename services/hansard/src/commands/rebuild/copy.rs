//! Copies the record into a new schema and shows the progress.

use std::time::{Duration, Instant};

use archive::Archive;
use domain::{Partition, Sequence};
use event_log::Record;
use projector::rebuild::load;
use read_model::ReadModel;
use read_model::projections::conversations::lease;
use read_model::schemas::SchemaBuild;
use runtime::rate_limiter::RateLimiter;
use runtime::shutdown::Shutdown;
use tokio::time::{MissedTickBehavior, interval};

use super::report::{Form, Step};
use crate::progress::{Length, Progress, grouped, per_second};

/// The interval of progress updates.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// The last sequence of each partition.
pub(super) async fn ends(record: &Record) -> anyhow::Result<Vec<(Partition, Sequence)>> {
    let mut ends = Vec::new();
    for partition in (0..record.partitions()).map(Partition) {
        ends.push((partition, record.bounds_of(partition).await?.last));
    }
    Ok(ends)
}

/// Copies the current record into a schema that is being built.
pub(super) async fn copy(
    archive: &Archive,
    building: &SchemaBuild,
    pace: RateLimiter,
    shutdown: &Shutdown,
    form: Form,
) -> anyhow::Result<()> {
    let ends = ends(archive.record()).await?;
    let total = sum(ends.iter().map(|(_, end)| end.0));
    let started = Instant::now();
    let from = position(building.model()).await.unwrap_or(0);
    let mut progress = Progress::begin("copy", Length::Items(total));
    let mut loading = Box::pin(load(archive, building.model(), &ends, pace, shutdown));
    let mut ticks = interval(PROGRESS_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            loaded = &mut loading => break loaded?,
            _ = ticks.tick() => {}
        }
        // A failed read is ignored here: the load returns the errors.
        if let Some(done) = position(building.model()).await {
            progress.advance(done, || progress_text(from, done, total, started.elapsed()));
        }
    }
    let done = position(building.model()).await.unwrap_or(total);
    progress.finish(&progress_text(from, done, total, started.elapsed()));
    form.print(&Step::Copied { messages: done.saturating_sub(from), took: started.elapsed() })
}

/// The sum of the partitions' checkpoints; `None`: they cannot be read now.
async fn position(model: &ReadModel) -> Option<u64> {
    let checkpoints = lease::checkpoints(model).await.ok()?;
    Some(sum(checkpoints.iter().map(|one| one.sequence.0)))
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

fn progress_text(from: u64, done: u64, total: u64, took: Duration) -> String {
    let rate = per_second(done.saturating_sub(from), took.as_secs_f64());
    let left = match rate {
        0 => "unknown".to_owned(),
        rate => format!("{} s", grouped(total.saturating_sub(done) / rate)),
    };
    let (done, total, rate) = (grouped(done), grouped(total), grouped(rate));
    format!("{done} of {total} commits, {rate}/s, time left {left}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_shows_rate_and_time_left() {
        let check = |from, done, total, seconds, expected: &str| {
            let progress_text = progress_text(from, done, total, Duration::from_secs(seconds));
            assert_eq!(progress_text, expected);
        };
        let rate = "2,000 of 6,000 commits, 1,000/s, time left 4 s";
        check(0, 2_000, 6_000, 2, rate);
        check(1_000, 2_000, 6_000, 1, rate);
        check(5, 5, 9, 3, "5 of 9 commits, 0/s, time left unknown");
    }
}
