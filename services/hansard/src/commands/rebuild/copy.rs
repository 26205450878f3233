//! Copying the record, with progress.

use std::time::{Duration, Instant};

use archive::Archive;
use domain::{Partition, Sequence};
use event_log::Record;
use projector::rebuild::load;
use read_model::ReadModel;
use read_model::projections::conversations::lease;
use read_model::schemas::Building;
use runtime::pace::Pace;
use runtime::shutdown::Shutdown;
use tokio::time::{MissedTickBehavior, interval};

use super::report::{Form, Step};
use crate::progress::{Length, Progress, grouped, per_second};

/// How often progress is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// Where each partition ends now.
pub(super) async fn ends(record: &Record) -> anyhow::Result<Vec<(Partition, Sequence)>> {
    let mut ends = Vec::new();
    for partition in (0..record.partitions()).map(Partition) {
        ends.push((partition, record.bounds_of(partition).await?.last));
    }
    Ok(ends)
}

/// Copies what the record holds now into a schema that is being made.
pub(super) async fn copy(
    archive: &Archive,
    building: &Building,
    pace: Pace,
    shutdown: &Shutdown,
    form: Form,
) -> anyhow::Result<()> {
    let ends = ends(archive.record()).await?;
    let total = sum(ends.iter().map(|(_, end)| end.0));
    let began = Instant::now();
    let from = position(building.model()).await.unwrap_or(0);
    let mut progress = Progress::begin("copy", Length::Items(total));
    let mut loading = Box::pin(load(archive, building.model(), &ends, pace, shutdown));
    let mut ticks = interval(LOOK_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            loaded = &mut loading => break loaded?,
            _ = ticks.tick() => {}
        }
        // Looked at between two chunks; the load itself tells what is wrong.
        if let Some(done) = position(building.model()).await {
            progress.advance(done, || words(from, done, total, began.elapsed()));
        }
    }
    let done = position(building.model()).await.unwrap_or(total);
    progress.finish(&words(from, done, total, began.elapsed()));
    form.tell(&Step::Copied {
        messages: done.saturating_sub(from),
        took: began.elapsed(),
    })
}

/// The sum of the partitions' places; `None`: it cannot be told now.
async fn position(model: &ReadModel) -> Option<u64> {
    let checkpoints = lease::checkpoints(model).await.ok()?;
    Some(sum(checkpoints.iter().map(|one| one.sequence.0)))
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

fn words(from: u64, done: u64, total: u64, took: Duration) -> String {
    let rate = per_second(done.saturating_sub(from), took.as_secs_f64());
    let left = match rate {
        0 => "unknown".to_owned(),
        rate => format!("{} s", grouped(total.saturating_sub(done) / rate)),
    };
    format!(
        "{} of {} commits, {}/s, time left {left}",
        grouped(done),
        grouped(total),
        grouped(rate)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_tells_rate_and_time_left() {
        let check = |from, done, total, seconds, expected: &str| {
            let words = words(from, done, total, Duration::from_secs(seconds));
            assert_eq!(words, expected);
        };
        let rate = "2,000 of 6,000 commits, 1,000/s, time left 4 s";
        check(0, 2_000, 6_000, 2, rate);
        check(1_000, 2_000, 6_000, 1, rate);
        check(5, 5, 9, 3, "5 of 9 commits, 0/s, time left unknown");
    }
}
