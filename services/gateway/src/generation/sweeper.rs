//! Looks after runs that nobody makes any more: those whose parts have stood still for too long are ended as abandoned,
//! those that are closed are finished. Every gateway sweeps; a run has one end all the same.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use domain::{RunOutcome, Sequence, SweepAccess};
use futures::StreamExt as _;
use futures::stream;
use read_model::queries::{self, ActiveRunRow};
use tokio::time::Instant;
use tracing::Instrument as _;
use wire::status::{Problem, Reason};

use super::close::{Closing, close};
use super::finish::finish;
use super::run_end::ended;
use super::run_key::RunKey;
use super::sweep_window::{Look, WINDOW_RUNS_MAX, Window};
use super::{Generations, head_of, metrics, parts_log};
use history::Deadline;

/// Runs of one page of the active ones.
const PAGE_RUNS: u32 = 500;
/// Runs that are looked at at once.
const AT_ONCE: usize = 16;

/// What was seen of a run's parts, and since when it has been so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sighting {
    last: Sequence,
    is_closed: bool,
    since: Instant,
}

/// What becomes of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// Somebody makes it, or may.
    Wait,
    /// It is closed, and whoever closed it did not finish it.
    Finish,
    /// Nobody makes it.
    Abandon,
}

/// Sweeps for ever.
pub(super) async fn sweep(generations: Generations) -> Infallible {
    let mut sweeper = Sweeper {
        seen: HashMap::new(),
        window: Window::default(),
    };
    loop {
        tokio::time::sleep(jittered(generations.rules.sweep_every)).await;
        let span = tracing::debug_span!("gateway.runs.sweep");
        let swept = sweeper.once(&generations).instrument(span).await;
        metrics::swept(if swept.is_ok() { "ok" } else { "failed" });
        if let Err(problem) = swept {
            tracing::warn!(
                reason = problem.reason().as_str(),
                "the active runs cannot be looked at"
            );
        }
    }
}

/// So that gateways that began together do not sweep together.
fn jittered(every: Duration) -> Duration {
    rand::random_range(every.mul_f64(0.75)..=every.mul_f64(1.25))
}

#[derive(Debug)]
struct Sweeper {
    /// What was seen of the window's runs; of no others.
    seen: HashMap<RunKey, Sighting>,
    window: Window,
}

impl Sweeper {
    async fn once(&mut self, generations: &Generations) -> Result<(), Problem> {
        let access = access(generations).await?;
        let began = Instant::now();
        let (mut looked_at, mut after) = (HashMap::new(), self.window.after.clone());
        loop {
            let reading = queries::active_runs(
                &generations.gateway.reader.read_model,
                &access,
                after.as_ref(),
                PAGE_RUNS,
            );
            let rows = Deadline::until(None).rows(reading).await?;
            let is_last = u32::try_from(rows.len()).is_ok_and(|rows| rows < PAGE_RUNS);
            after = rows.last().map(|row| row.key.clone()).filter(|_| !is_last);
            let looks = rows
                .into_iter()
                .map(|row| self.look(generations, run_of(row)));
            // Collected first: the compiler cannot tell that the lazy map is `Send`.
            let looks = stream::iter(looks.collect::<Vec<_>>()).buffered(AT_ONCE);
            let looks: Vec<_> = looks.collect().await;
            looked_at.extend(looks.into_iter().flatten());
            if is_last || looked_at.len() >= WINDOW_RUNS_MAX {
                break;
            }
        }
        self.seen = looked_at;
        let look = Look {
            began,
            ended: Instant::now(),
            end: after,
        };
        let window = std::mem::take(&mut self.window);
        self.window = window.after(look, generations.rules.abandoned_after);
        Ok(())
    }

    /// Looks at a run, and ends it where nobody does; what was seen, where it is to be looked at again.
    async fn look(&self, generations: &Generations, run: RunKey) -> Option<(RunKey, Sighting)> {
        let last = parts_log::last(&generations.gateway, &run.key, run.run).await;
        let last = last.ok()?;
        let now = Instant::now();
        let now = Sighting {
            last: last.as_ref().map_or(Sequence(0), |last| last.sequence),
            is_closed: last.as_ref().is_some_and(parts_log::Batch::ends),
            since: now,
        };
        let before = self.seen.get(&run).copied();
        let verdict = judge(before, now, generations.rules.abandoned_after);
        let since = before.filter(|before| before.last == now.last);
        let sighting = Sighting {
            since: since.map_or(now.since, |before| before.since),
            ..now
        };
        let ended = match verdict {
            Verdict::Wait => Ok(()),
            Verdict::Finish => end(generations, &run, "unfinished").await,
            Verdict::Abandon => end(generations, &run, "abandoned").await,
        };
        if let Err(problem) = ended {
            // It is looked at again.
            tracing::warn!(run.id = %run.run, reason = problem.reason().as_str(), "a run without a maker cannot be ended");
        }
        Some((run, sighting))
    }
}

/// What was seen before, and now.
fn judge(before: Option<Sighting>, now: Sighting, abandoned_after: Duration) -> Verdict {
    let Some(before) = before.filter(|before| before.last == now.last) else {
        return Verdict::Wait;
    };
    if now.is_closed {
        return Verdict::Finish;
    }
    if now.since.saturating_duration_since(before.since) >= abandoned_after {
        return Verdict::Abandon;
    }
    Verdict::Wait
}

/// Closes a run that nobody closed, and finishes it.
async fn end(generations: &Generations, run: &RunKey, found: &'static str) -> Result<(), Problem> {
    let head = head_of(&generations.gateway, &run.key).await?;
    let active = head.and_then(|head| head.active_run);
    if active.is_none_or(|active| active.id != run.run) {
        // The rows do not know yet that it is over.
        return Ok(());
    }
    if let Closing::Closed = close(generations, run, ended(RunOutcome::Abandoned)).await? {
        finish(generations, run, None).await?;
        metrics::run_swept(found);
    }
    Ok(())
}

async fn access(generations: &Generations) -> Result<SweepAccess, Problem> {
    let registry = &generations.gateway.registry;
    let principal = registry.authenticate(generations.token.expose()).await;
    let access = principal.and_then(|principal| registry.authorize_sweep(&principal).ok());
    access.ok_or_else(|| {
        let message = "`writer_token` is no token with the scope append for any tenant";
        Problem::new(Reason::MissingScope, message)
    })
}

fn run_of(row: ActiveRunRow) -> RunKey {
    RunKey {
        agent: row.agent,
        key: row.key,
        run: row.run.id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AFTER: Duration = Duration::from_secs(15);

    #[test]
    fn a_run_is_ended_once_it_has_stood_still_long_enough() {
        let began = Instant::now();
        let seen = |last: u64, is_closed: bool, ms: u64| Sighting {
            last: Sequence(last),
            is_closed,
            since: began + Duration::from_millis(ms),
        };
        let check = |before: Option<Sighting>, now: Sighting, expected: Verdict| {
            assert_eq!(judge(before, now, AFTER), expected, "{before:?} {now:?}");
        };
        check(None, seen(1, false, 20_000), Verdict::Wait);
        check(
            Some(seen(1, false, 0)),
            seen(2, false, 20_000),
            Verdict::Wait,
        );
        check(
            Some(seen(1, false, 0)),
            seen(1, false, 14_999),
            Verdict::Wait,
        );
        check(
            Some(seen(1, false, 0)),
            seen(1, false, 15_000),
            Verdict::Abandon,
        );
        check(
            Some(seen(0, false, 0)),
            seen(0, false, 15_000),
            Verdict::Abandon,
        );
        check(
            Some(seen(1, false, 0)),
            seen(2, true, 20_000),
            Verdict::Wait,
        );
        check(Some(seen(2, true, 0)), seen(2, true, 1), Verdict::Finish);
    }
}
