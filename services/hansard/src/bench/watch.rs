//! How far the rows are behind the record, seen from outside.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use domain::Partition;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval};
use wire::token::PositionToken;

use super::floor::{Floors, Rows};
use super::latency::{Latencies, Latency};
use super::pace::until;

/// How often checkpoints are looked at; the lag is known no finer.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
/// How long the projector may take to catch up.
const PATIENCE: Duration = Duration::from_mins(5);
/// Acknowledged commits that wait to be looked for.
const WAITING_MAX: usize = 1_000_000;

/// Commits of the record that the rows do not hold yet.
pub(super) async fn commits_behind(floors: &Floors) -> anyhow::Result<u64> {
    let checkpoints: HashMap<u16, u64> = floors.rows.checkpoints().await?.into_iter().collect();
    let mut behind = 0;
    for partition in 0..floors.record.partitions() {
        let last = floors.record.bounds_of(Partition(partition)).await?.last.0;
        let projected = checkpoints.get(&partition).copied().unwrap_or(0);
        behind += last.saturating_sub(projected);
    }
    Ok(behind)
}

/// Waits until the rows hold everything, and says how long it took.
pub(super) async fn caught_up(floors: &Floors) -> anyhow::Result<Duration> {
    until(
        "the projector did not catch up",
        (LOOK_INTERVAL, PATIENCE),
        async || Ok(commits_behind(floors).await? == 0),
    )
    .await
}

/// Notes when acknowledged commits arrive in the rows.
pub(super) struct Arrivals {
    acknowledged: mpsc::Sender<Acknowledged>,
    watching: JoinHandle<anyhow::Result<Latency>>,
}

/// Where a commit stands, and when it was acknowledged.
#[derive(Debug, Clone, Copy)]
struct Acknowledged {
    partition: u16,
    sequence: u64,
    at: Instant,
}

/// Tells of acknowledged commits; dropped with the last clone.
#[derive(Clone)]
pub(super) struct Teller {
    acknowledged: mpsc::Sender<Acknowledged>,
    record: wire::token::RecordId,
}

impl Teller {
    /// A commit was acknowledged just now, with this token.
    pub(super) fn tell(&self, position_token: &str) -> anyhow::Result<()> {
        let position = PositionToken::decode(position_token, self.record)?.position;
        let told = Acknowledged {
            partition: position.partition.0,
            sequence: position.sequence.0,
            at: Instant::now(),
        };
        self.acknowledged
            .try_send(told)
            .map_err(|_| anyhow::anyhow!("too many commits wait"))
    }
}

impl Arrivals {
    /// Begins to watch.
    pub(super) fn watch(rows: &Rows) -> Self {
        let (acknowledged, told) = mpsc::channel(WAITING_MAX);
        Self {
            acknowledged,
            watching: tokio::spawn(watch(rows.clone(), told)),
        }
    }

    /// Who tells of commits of `floors`' record.
    pub(super) fn teller(&self, floors: &Floors) -> Teller {
        Teller {
            acknowledged: self.acknowledged.clone(),
            record: floors.record.id(),
        }
    }

    /// Waits until all have arrived; how late each was.
    pub(super) async fn settle(self) -> anyhow::Result<Latency> {
        drop(self.acknowledged);
        self.watching.await?
    }
}

async fn watch(rows: Rows, mut told: mpsc::Receiver<Acknowledged>) -> anyhow::Result<Latency> {
    let mut waiting: HashMap<u16, VecDeque<Acknowledged>> = HashMap::new();
    let mut latencies = Latencies::new()?;
    let mut looks = interval(LOOK_INTERVAL);
    let mut open = true;
    while open || waiting.values().any(|queue| !queue.is_empty()) {
        looks.tick().await;
        loop {
            match told.try_recv() {
                Ok(one) => waiting.entry(one.partition).or_default().push_back(one),
                Err(mpsc::error::TryRecvError::Empty) => break,
                Err(mpsc::error::TryRecvError::Disconnected) => {
                    open = false;
                    break;
                }
            }
        }
        for (partition, sequence) in rows.checkpoints().await? {
            let seen = Instant::now();
            let Some(queue) = waiting.get_mut(&partition) else {
                continue;
            };
            // Acknowledgements overtake each other, so each is looked at.
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
