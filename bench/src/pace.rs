//! Load: as much as goes at once, or so much a second.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::latency::{Latencies, Measure, real};

/// How often a paced load sends what is due.
const TICK: Duration = Duration::from_millis(5);

/// Which call it is.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// The worker, from 0.
    pub worker: usize,
    /// How many calls the worker made before.
    pub count: usize,
}

/// How long to go on, with how many workers.
#[derive(Debug, Clone, Copy)]
pub struct Closed {
    /// Calls on their way at once.
    pub in_flight: usize,
    /// How long calls run before they are measured.
    pub warm_up: Duration,
    /// How long they are measured.
    pub duration: Duration,
}

/// Each worker makes one call after the other. Calls that end within the measured time count.
///
/// # Errors
/// The first call that fails.
pub async fn closed_loop<F, C>(closed: Closed, call: F) -> anyhow::Result<Measure>
where
    F: Fn(Turn) -> C + Clone + Send + 'static,
    C: Future<Output = anyhow::Result<()>> + Send,
{
    let from = Instant::now() + closed.warm_up;
    let until = from + closed.duration;
    let mut workers = JoinSet::new();
    for worker in 0..closed.in_flight {
        let call = call.clone();
        workers.spawn(async move {
            let mut latencies = Latencies::new()?;
            let mut count = 0;
            loop {
                let begun = Instant::now();
                if begun >= until {
                    return anyhow::Ok(latencies);
                }
                call(Turn { worker, count }).await?;
                count += 1;
                let ended = Instant::now();
                if (from..until).contains(&ended) {
                    latencies.add(ended - begun);
                }
            }
        });
    }
    let mut all = Latencies::new()?;
    while let Some(worker) = workers.join_next().await {
        all.join(&worker??)?;
    }
    Ok(all.measure(closed.duration))
}

/// So many calls a second, whatever becomes of them.
#[derive(Debug, Clone, Copy)]
pub struct Paced {
    /// Calls a second.
    pub per_second: f64,
    /// Most calls on their way at once; beyond it, calls wait, and their waiting counts.
    pub in_flight_max: usize,
    /// How long to go on.
    pub duration: Duration,
}

/// Makes calls when they are due. A call's time counts from when it was due.
///
/// # Errors
/// The first call that fails.
pub async fn paced_loop<F, C>(paced: Paced, call: F) -> anyhow::Result<Measure>
where
    F: Fn(usize) -> C + Clone + Send + 'static,
    C: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let begun = Instant::now();
    let permits = Arc::new(Semaphore::new(paced.in_flight_max));
    let mut calls = JoinSet::new();
    let mut latencies = Latencies::new()?;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut made = 0;
    while begun.elapsed() < paced.duration {
        ticks.tick().await;
        while real(u64::try_from(made)?) < begun.elapsed().as_secs_f64() * paced.per_second {
            let due =
                begun + Duration::from_secs_f64(real(u64::try_from(made)?) / paced.per_second);
            let permit = Arc::clone(&permits).acquire_owned().await?;
            let call = call(made);
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
    Ok(latencies.measure(begun.elapsed()))
}

/// Waits until a condition holds, looking every `every`.
///
/// # Errors
/// The condition cannot be looked at, or does not hold within `patience`; `what` names it.
pub async fn until(
    what: &str,
    (every, patience): (Duration, Duration),
    mut holds: impl AsyncFnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    loop {
        if holds().await? {
            return Ok(begun.elapsed());
        }
        let next = Instant::now() + every;
        anyhow::ensure!(
            next < begun + patience,
            "{what} within {} s",
            patience.as_secs()
        );
        sleep_until(next).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn workers_share_the_load_and_a_failure_ends_it() {
        let closed = Closed {
            in_flight: 3,
            warm_up: Duration::from_millis(10),
            duration: Duration::from_millis(100),
        };
        let highest = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&highest);
        let measure = closed_loop(closed, move |turn| {
            seen.fetch_max(turn.worker, Ordering::Relaxed);
            async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                Ok(())
            }
        });
        let measure = measure.await.unwrap();
        assert!(
            measure.per_second > 0.0 && measure.latency.p50_ms >= 1.0,
            "{measure:?}"
        );
        assert_eq!(highest.load(Ordering::Relaxed), 2);
        let failing = |turn: Turn| async move {
            anyhow::ensure!(turn.count < 2, "no");
            Ok(())
        };
        assert!(closed_loop(closed, failing).await.is_err());
    }

    #[tokio::test]
    async fn a_paced_load_keeps_its_pace() {
        let paced = Paced {
            per_second: 1_000.0,
            in_flight_max: 100,
            duration: Duration::from_millis(300),
        };
        let measure = paced_loop(paced, |_| async { Ok(()) }).await.unwrap();
        assert!(
            (800.0..1_100.0).contains(&measure.per_second),
            "{measure:?}"
        );
    }
}
