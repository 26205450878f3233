//! Load generators: a closed loop with fixed concurrency, and an open loop with a fixed rate.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::latency::{Latencies, Measure, real};

/// Interval at which an open loop sends due calls.
const TICK: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) worker: usize,
    /// The worker's earlier calls.
    pub(crate) count: usize,
}

/// Workers that call one after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClosedLoop {
    pub(crate) in_flight: usize,
    /// Time before the measurement.
    pub(crate) warm_up: Duration,
    pub(crate) duration: Duration,
}

impl ClosedLoop {
    /// Calls with a clone of `shared` until the end of the measurement. Calls that end within the measurement count. The first
    /// failed call ends the load.
    pub(crate) async fn measure<S, F, C>(self, shared: S, call: F) -> anyhow::Result<Measure>
    where
        S: Clone + Send + 'static,
        F: Fn(S, Call) -> C + Clone + Send + 'static,
        C: Future<Output = anyhow::Result<()>> + Send,
    {
        let from = Instant::now() + self.warm_up;
        let until = from + self.duration;
        let mut workers = JoinSet::new();
        for worker in 0..self.in_flight {
            let (shared, call) = (shared.clone(), call.clone());
            workers.spawn(async move {
                let mut latencies = Latencies::new()?;
                let mut count = 0;
                loop {
                    let start = Instant::now();
                    if start >= until {
                        return anyhow::Ok(latencies);
                    }
                    call(shared.clone(), Call { worker, count }).await?;
                    count += 1;
                    let ended = Instant::now();
                    if (from..until).contains(&ended) {
                        latencies.add(ended - start);
                    }
                }
            });
        }
        let mut all = Latencies::new()?;
        while let Some(worker) = workers.join_next().await {
            all.join(&worker??)?;
        }
        Ok(all.measure(self.duration))
    }
}

/// Calls at a fixed rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenLoop {
    pub(crate) per_second: f64,
    /// Maximum concurrent calls; further calls wait, and the waiting time counts.
    pub(crate) in_flight_max: usize,
    pub(crate) duration: Duration,
}

impl OpenLoop {
    /// Makes the calls of the duration with a clone of `shared` when they are due: no more, however slow they are. A call's time starts
    /// when it is due. The first failed call ends the load.
    pub(crate) async fn measure<S, F, C>(self, shared: S, call: F) -> anyhow::Result<Measure>
    where
        S: Clone,
        F: Fn(S, usize) -> C,
        C: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let start = Instant::now();
        let permits = Arc::new(Semaphore::new(self.in_flight_max));
        let mut calls = JoinSet::new();
        let mut latencies = Latencies::new()?;
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut made = 0;
        while start.elapsed() < self.duration {
            ticks.tick().await;
            while real(u64::try_from(made)?) < start.elapsed().min(self.duration).as_secs_f64() * self.per_second {
                let due = start + Duration::from_secs_f64(real(u64::try_from(made)?) / self.per_second);
                let permit = Arc::clone(&permits).acquire_owned().await?;
                let call = call(shared.clone(), made);
                calls.spawn(async move {
                    call.await?;
                    drop(permit);
                    anyhow::Ok(due.elapsed())
                });
                made += 1;
            }
            while let Some(call) = calls.try_join_next() {
                latencies.add(call??);
            }
        }
        while let Some(call) = calls.join_next().await {
            latencies.add(call??);
        }
        Ok(latencies.measure(start.elapsed()))
    }
}

/// Polls until a condition is true; returns the waiting time. After `timeout` it fails with the message `what`.
pub(crate) async fn until(
    what: &str,
    poll_interval: Duration,
    timeout: Duration,
    mut is_true: impl AsyncFnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<Duration> {
    let start = Instant::now();
    loop {
        if is_true().await? {
            return Ok(start.elapsed());
        }
        let next = Instant::now() + poll_interval;
        let seconds = timeout.as_secs();
        anyhow::ensure!(next < start + timeout, "{what} within {seconds} s");
        sleep_until(next).await;
    }
}

/// The item at `index`, modulo the length of the list.
pub(crate) fn pick<T>(items: &[T], index: usize) -> anyhow::Result<&T> {
    items.get(index % items.len().max(1)).context("an empty list")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn workers_share_the_load_and_a_failure_ends_it() {
        let closed =
            ClosedLoop { in_flight: 3, warm_up: Duration::from_millis(10), duration: Duration::from_millis(100) };
        let highest = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&highest);
        let measure = closed
            .measure(seen, |seen, call| async move {
                seen.fetch_max(call.worker, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(1)).await;
                Ok(())
            })
            .await
            .unwrap();
        assert!(measure.per_second > 0.0, "{measure:?}");
        assert!(measure.latency.p50_ms >= 1.0, "{measure:?}");
        assert_eq!(highest.load(Ordering::Relaxed), 2);
        let failing = |(), call: Call| async move {
            anyhow::ensure!(call.count < 2, "no");
            Ok(())
        };
        assert!(closed.measure((), failing).await.is_err());
    }

    #[tokio::test]
    async fn a_paced_load_keeps_its_pace() {
        let paced = OpenLoop { per_second: 1_000.0, in_flight_max: 100, duration: Duration::from_millis(300) };
        let measure = paced.measure((), |(), _| async { Ok(()) }).await.unwrap();
        let rate = measure.per_second;
        assert!((800.0..1_100.0).contains(&rate), "{measure:?}");
    }
    /// On a machine that became busy, the load ends after the calls of its duration.
    #[tokio::test]
    async fn a_paced_load_of_slow_calls_ends() {
        let paced = OpenLoop { per_second: 1_000.0, in_flight_max: 1, duration: Duration::from_millis(50) };
        let made = Arc::new(AtomicUsize::new(0));
        let call = |made: Arc<AtomicUsize>, _| async move {
            made.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok(())
        };
        let measured = tokio::time::timeout(Duration::from_secs(30), paced.measure(Arc::clone(&made), call)).await;
        assert!(measured.is_ok_and(|measure| measure.is_ok()));
        assert!(made.load(Ordering::Relaxed) <= 50, "{made:?}");
    }
}
