//! Measures how far the rows lag behind the record.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use domain::Partition;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval};
use wire::token::PositionToken;

use super::baseline::{Baselines, Rows};
use super::latency::{Latencies, Latency};
use super::pace::until;

/// Interval of checkpoint reads, which is the precision of the lag.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
const CATCH_UP_TIMEOUT: Duration = Duration::from_mins(5);
const WAITING_MAX: usize = 1_000_000;

/// The last sequence of each partition.
type Ends = HashMap<u16, u64>;

pub(super) async fn ends(baselines: &Baselines) -> anyhow::Result<Ends> {
    let mut ends = HashMap::new();
    for partition in 0..baselines.record.partitions() {
        let bounds = baselines.record.bounds_of(Partition(partition)).await?;
        ends.insert(partition, bounds.last.0);
    }
    Ok(ends)
}

/// Commits up to `ends` that have no rows yet.
pub(super) async fn commits_behind(baselines: &Baselines, ends: &Ends) -> anyhow::Result<u64> {
    let checkpoints: HashMap<u16, u64> = baselines.rows.checkpoints().await?.into_iter().collect();
    let behind =
        |(partition, last): (&u16, &u64)| last.saturating_sub(checkpoints.get(partition).copied().unwrap_or(0));
    Ok(ends.iter().map(behind).sum())
}

/// Waits until the rows include the record's current commits; returns the waiting time.
pub(super) async fn caught_up(baselines: &Baselines) -> anyhow::Result<Duration> {
    caught_up_to(baselines, &ends(baselines).await?).await
}

/// Waits until the rows include everything up to `ends`; returns the waiting time.
pub(super) async fn caught_up_to(baselines: &Baselines, ends: &Ends) -> anyhow::Result<Duration> {
    let what = "the projector did not catch up";
    until(what, LOOK_INTERVAL, CATCH_UP_TIMEOUT, async || Ok(commits_behind(baselines, ends).await? == 0)).await
}

/// Measures the lag of the rows behind acknowledged commits. The task ends when all clones of the reporter are dropped and
/// all their commits have rows.
pub(super) fn arrivals(baselines: &Baselines) -> (Reporter, JoinHandle<anyhow::Result<Latency>>) {
    let (acknowledged, receiver) = mpsc::channel(WAITING_MAX);
    let reporter = Reporter { acknowledged, record: baselines.record.id() };
    (reporter, tokio::spawn(watch(baselines.rows.clone(), receiver)))
}

/// The position of a commit and the time of its acknowledgement.
#[derive(Debug, Clone, Copy)]
struct Acknowledged {
    partition: u16,
    sequence: u64,
    at: Instant,
}

/// Reports acknowledged commits to [`arrivals`].
#[derive(Clone)]
pub(super) struct Reporter {
    acknowledged: mpsc::Sender<Acknowledged>,
    record: wire::token::RecordId,
}

impl Reporter {
    pub(super) fn report(&self, position_token: &str) -> anyhow::Result<()> {
        let position = PositionToken::decode(position_token, self.record)?.position;
        let acknowledged =
            Acknowledged { partition: position.partition.0, sequence: position.sequence.0, at: Instant::now() };
        let sent = self.acknowledged.try_send(acknowledged);
        sent.map_err(|_| anyhow::anyhow!("too many acknowledged commits have no rows"))
    }
}

async fn watch(rows: Rows, mut receiver: mpsc::Receiver<Acknowledged>) -> anyhow::Result<Latency> {
    let mut waiting: HashMap<u16, VecDeque<Acknowledged>> = HashMap::new();
    let mut latencies = Latencies::new()?;
    let mut looks = interval(LOOK_INTERVAL);
    let is_waiting = |queue: &VecDeque<_>| !queue.is_empty();
    while !receiver.is_closed() || !receiver.is_empty() || waiting.values().any(is_waiting) {
        looks.tick().await;
        while let Ok(one) = receiver.try_recv() {
            waiting.entry(one.partition).or_default().push_back(one);
        }
        for (partition, sequence) in rows.checkpoints().await? {
            let seen = Instant::now();
            let Some(queue) = waiting.get_mut(&partition) else {
                continue;
            };
            // Acknowledgements can be out of order, so each is checked.
            queue.retain(|one| {
                let arrived = one.sequence <= sequence;
                if arrived {
                    latencies.add(seen - one.at);
                }
                !arrived
            });
        }
    }
    Ok(latencies.summary())
}
