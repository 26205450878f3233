//! The sweeper of abandoned runs: it ends runs without new parts and finishes runs that are closed. Every gateway sweeps;
//! a run still has one end.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use domain::{RunOutcome, Sequence};
use futures::StreamExt as _;
use futures::stream;
use read_model::{ReadModel, queries};
use runtime::every::after_every;
use tokio::time::Instant;
use tracing::Instrument as _;
use wire::status::Problem;

use super::finish::finish;
use super::run_end::{CloseResult, close, end_with};
use super::sweep_window::{Scan, WINDOW_RUNS_MAX, Window};
use super::{Generations, RunKey, metrics, parts_log, read_head};
use history::Deadline;
use record_access::writer_token;

/// Active runs per page.
const PAGE_RUNS: u32 = 500;
/// Runs that are checked concurrently.
const CONCURRENCY: usize = 16;

/// The last part of a run, and since when it is the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Observation {
    last: Sequence,
    is_closed: bool,
    since: Instant,
}

/// What the sweeper does with a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    /// A gateway may be executing it.
    Wait,
    /// It is closed, but its gateway did not finish it.
    Finish,
    /// No gateway executes it.
    Abandon,
}

/// Sweeps the runs in the rows of a database at intervals, without end.
pub(super) async fn sweep(generations: Generations, rows: ReadModel) -> Infallible {
    let mut sweeper = Sweeper { rows, seen: HashMap::new(), window: Window::default() };
    let mut rounds = after_every(generations.config.sweep_interval());
    loop {
        rounds.next().await;
        let span = tracing::debug_span!("gateway.runs.sweep");
        let swept = sweeper.once(&generations).instrument(span).await;
        metrics::swept(if swept.is_ok() { "ok" } else { "failed" });
        if let Err(problem) = swept {
            tracing::warn!(reason = problem.reason().as_str(), "the sweep over the active runs failed");
        }
    }
}

#[derive(Debug)]
struct Sweeper {
    rows: ReadModel,
    /// The observations of the runs of the window.
    seen: HashMap<RunKey, Observation>,
    window: Window,
}

impl Sweeper {
    async fn once(&mut self, generations: &Generations) -> Result<(), Problem> {
        let access = writer_token::sweep_access(&generations.gateway, &generations.token).await?;
        let began = Instant::now();
        let (mut seen, mut after) = (HashMap::new(), self.window.after.clone());
        loop {
            let reading = queries::active_runs(&self.rows, &access, after.as_ref(), PAGE_RUNS);
            let rows = Deadline::until(None).rows(reading).await?;
            let is_last = u32::try_from(rows.len()).is_ok_and(|rows| rows < PAGE_RUNS);
            after = rows.last().map(|row| row.key.clone()).filter(|_| !is_last);
            let runs = rows.into_iter().map(|row| RunKey { agent: row.agent, key: row.key, run: row.run.id });
            let checks = runs.map(|run| self.check(generations, run));
            // Collected first: the compiler cannot prove that the lazy map is `Send`.
            let observations: Vec<_> = stream::iter(checks.collect::<Vec<_>>()).buffered(CONCURRENCY).collect().await;
            seen.extend(observations.into_iter().flatten());
            if is_last || seen.len() >= WINDOW_RUNS_MAX {
                break;
            }
        }
        self.seen = seen;
        let scan = Scan { began, ended: Instant::now(), end: after };
        let window = std::mem::take(&mut self.window);
        self.window = window.after(scan, generations.config.abandoned_after());
        Ok(())
    }

    /// Checks a run, and ends or finishes it if its gateway does not. Returns the observation for the next scan.
    async fn check(&self, generations: &Generations, run: RunKey) -> Option<(RunKey, Observation)> {
        let last = parts_log::last(&generations.gateway, &run.key, run.run).await.ok()?;
        let now = Observation {
            last: last.as_ref().map_or(Sequence(0), |last| last.sequence),
            is_closed: last.as_ref().is_some_and(parts_log::Batch::ends),
            since: Instant::now(),
        };
        let before = self.seen.get(&run).copied();
        let unchanged = before.filter(|before| before.last == now.last);
        let observation = Observation { since: unchanged.map_or(now.since, |before| before.since), ..now };
        let ended = match action(before, now, generations.config.abandoned_after()) {
            Action::Wait => Ok(()),
            Action::Finish => end(generations, &run, "unfinished").await,
            Action::Abandon => end(generations, &run, "abandoned").await,
        };
        if let Err(problem) = ended {
            // The next scan checks it again.
            tracing::warn!(run.id = %run.run, reason = problem.reason().as_str(), "an abandoned run cannot be ended yet");
        }
        Some((run, observation))
    }
}

/// The action, from the previous observation and this one.
fn action(before: Option<Observation>, now: Observation, abandoned_after: Duration) -> Action {
    let Some(before) = before.filter(|before| before.last == now.last) else {
        return Action::Wait;
    };
    if now.is_closed {
        return Action::Finish;
    }
    if now.since.saturating_duration_since(before.since) >= abandoned_after {
        return Action::Abandon;
    }
    Action::Wait
}

/// Closes a run if it is not closed, and finishes it.
async fn end(generations: &Generations, run: &RunKey, found: &'static str) -> Result<(), Problem> {
    let head = read_head(&generations.gateway, &run.key).await?;
    let active = head.and_then(|head| head.active_run);
    if active.is_none_or(|active| active.id != run.run) {
        // The run is over; the rows are behind.
        return Ok(());
    }
    if let CloseResult::Closed = close(generations, run, end_with(RunOutcome::Abandoned)).await? {
        finish(generations, run, None).await?;
        metrics::run_swept(found);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AFTER: Duration = Duration::from_secs(15);

    #[test]
    fn a_run_is_ended_after_a_time_without_parts() {
        let began = Instant::now();
        let seen = |(last, is_closed, ms): (u64, bool, u64)| Observation {
            last: Sequence(last),
            is_closed,
            since: began + Duration::from_millis(ms),
        };
        // The last sequence, whether the run is closed, and the time in ms; before and now.
        for (before, now, expected) in [
            (None, (1, false, 20_000), Action::Wait),
            (Some((1, false, 0)), (2, false, 20_000), Action::Wait),
            (Some((1, false, 0)), (1, false, 14_999), Action::Wait),
            (Some((1, false, 0)), (1, false, 15_000), Action::Abandon),
            (Some((0, false, 0)), (0, false, 15_000), Action::Abandon),
            (Some((1, false, 0)), (2, true, 20_000), Action::Wait),
            (Some((2, true, 0)), (2, true, 1), Action::Finish),
        ] {
            let found = action(before.map(seen), seen(now), AFTER);
            assert_eq!(found, expected, "{before:?} {now:?}");
        }
    }
}
