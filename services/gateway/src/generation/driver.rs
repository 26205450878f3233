//! Makes one run: a task of the gateway's own, which outlives the caller's connection.
//!
//! Its parts are published while it is made. It ends by itself, by a stop, by a bound, or with the gateway; its end is
//! the last of its parts, and then it is finished. Where somebody else has taken the run, it is left to them.

use std::time::{Duration, Instant};

use backon::Retryable as _;
use domain::{RunEnd, RunOutcome, RunPartKind};
use runtime::backoff::exponential;
use tracing::Instrument as _;
use wire::status::Problem;

use super::close::{Closing, close};
use super::finish::{Finished, finish};
use super::metrics::{self, Gauge};
use super::publisher::{Closed, Outlet, Published, Publisher};
use super::run_end::{ended, failed, tell_failure};
use super::run_spec::Making;
use super::steps::Steps;
use super::stop::{self, Interruption};
use super::{Generations, summarise};

/// The first wait before a run that could not be finished is finished.
const RETRY_WAIT_BASE: Duration = Duration::from_millis(250);
/// The longest wait before a run that could not be finished is finished.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(5);

/// Makes the run, and finishes it.
pub(super) async fn drive(generations: Generations, making: Making) {
    let span = tracing::info_span!(
        "gateway.run.make",
        tenant.id = making.run.key.tenant.as_str(),
        conversation.id = making.run.key.conversation.as_str(),
        run.id = %making.run.run,
    );
    let making_it = async {
        let gauge = Gauge::run();
        let began = Instant::now();
        if !make_and_close(&generations, &making).await {
            return;
        }
        let finished = finish_in_the_end(&generations, &making).await;
        drop(gauge);
        if let Ok(Finished::Finished(outcome, position)) = finished {
            metrics::run_made(outcome, began.elapsed());
            summarise::consider(&generations, &making, position);
        }
    };
    making_it.instrument(span).await;
}

/// Makes and publishes the parts; whether the run is closed then.
async fn make_and_close(generations: &Generations, making: &Making) -> bool {
    let writer = generations.writer.clone();
    let keep_alive = generations.rules.keep_alive;
    let (outlet, publisher) = Publisher::new(writer, making.run.clone(), keep_alive);
    let how = {
        let mut publishing = std::pin::pin!(publisher.run());
        let feeding = feed(generations, making, outlet);
        tokio::select! {
            biased;
            how = &mut publishing => how,
            () = feeding => publishing.await,
        }
    };
    let end = match how {
        Published::Ended => return true,
        // It is over, or another makes it: its end, if there is one, is theirs.
        Published::NotActive | Published::Superseded | Published::LeftOpen => return false,
        Published::Stopping => ended(RunOutcome::Stopped),
        Published::Refused(status) => {
            tracing::error!(code = ?status.code(), "the writer refuses the parts of a run");
            failed("parts_refused", "the writer refused the parts of the run")
        }
    };
    close_in_the_end(generations, making, end).await
}

/// Closes the run, however long the record takes to answer; whether it is closed then.
async fn close_in_the_end(generations: &Generations, making: &Making, end: RunEnd) -> bool {
    let closing = (|| close(generations, &making.run, end.clone()))
        .retry(exponential(RETRY_WAIT_BASE, RETRY_WAIT_MAX))
        .notify(|problem: &Problem, _| {
            let reason = problem.reason().as_str();
            tracing::warn!(reason, "a run is not closed yet");
        });
    matches!(closing.await, Ok(Closing::Closed))
}

/// Makes the parts, the run's end last.
async fn feed(generations: &Generations, making: &Making, outlet: Outlet) {
    if let Some(end) = Box::pin(make(generations, making, &outlet)).await {
        tell_failure(&end);
        // Where nobody publishes any more, its end is somebody else's.
        let _: Result<(), Closed> = outlet.send(RunPartKind::RunEnded(end)).await;
    }
}

/// Makes the parts but for the run's end, which it gives; `None`: somebody else ends the run.
async fn make(generations: &Generations, making: &Making, outlet: &Outlet) -> Option<RunEnd> {
    let rules = &generations.rules;
    let (key, run) = (&making.run.key, making.run.run);
    tokio::select! {
        end = Steps::new(generations, making, outlet).run() => end.ok(),
        interruption = stop::interruption(&generations.gateway, key, run) => match interruption {
            Interruption::StopRequested => Some(ended(RunOutcome::Stopped)),
            Interruption::Over => None,
        },
        () = tokio::time::sleep(rules.run_timeout) => {
            let message = format!("the run took longer than {} s", rules.run_timeout.as_secs());
            Some(failed("run_timed_out", &message))
        }
        () = generations.drained() => Some(ended(RunOutcome::Abandoned)),
    }
}

/// Finishes a closed run, however long the record takes to answer.
async fn finish_in_the_end(
    generations: &Generations,
    making: &Making,
) -> Result<Finished, Problem> {
    (|| finish(generations, &making.run, Some(making.started.clone())))
        .retry(exponential(RETRY_WAIT_BASE, RETRY_WAIT_MAX))
        .notify(|problem: &Problem, _| {
            let reason = problem.reason().as_str();
            tracing::warn!(reason, "a run is not finished yet");
        })
        .await
}
