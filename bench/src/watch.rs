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

/// The last sequence of each partition.
#[derive(Debug)]
pub(super) struct Ends(HashMap<u16, u64>);

/// Where the record ends now.
pub(super) async fn ends(floors: &Floors) -> anyhow::Result<Ends> {
    let mut ends = HashMap::new();
    for partition in 0..floors.record.partitions() {
        let last = floors.record.bounds_of(Partition(partition)).await?.last.0;
        ends.insert(partition, last);
    }
    Ok(Ends(ends))
}

/// Commits up to `ends` that the rows do not hold yet.
pub(super) async fn commits_behind(floors: &Floors, ends: &Ends) -> anyhow::Result<u64> {
    let checkpoints: HashMap<u16, u64> = floors.rows.checkpoints().await?.into_iter().collect();
    let behind = |(partition, last): (&u16, &u64)| {
        last.saturating_sub(checkpoints.get(partition).copied().unwrap_or(0))
    };
    Ok(ends.0.iter().map(behind).sum())
}

/// Waits until the rows hold everything that the record holds now, and says how long it took.
pub(super) async fn caught_up(floors: &Floors) -> anyhow::Result<Duration> {
    let ends = ends(floors).await?;
    caught_up_to(floors, &ends).await
}

/// Waits until the rows hold everything up to `ends`, and says how long it took.
pub(super) async fn caught_up_to(floors: &Floors, ends: &Ends) -> anyhow::Result<Duration> {
    until(
        "the projector did not catch up",
        (LOOK_INTERVAL, PATIENCE),
        async || Ok(commits_behind(floors, ends).await? == 0),
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
