//! Executes one run in a task of the gateway, independent of the caller's connection.
//!
//! Parts are published during the run. It ends with the model's last answer, by a stop request, by a limit or at shutdown.
//! Its end is its last part; then the run is finished. If another gateway has ended the run, this task returns.

use std::time::{Duration, Instant};

use backoff::exponential;
use backon::Retryable as _;
use domain::{RunEnd, RunOutcome, RunPartKind};
use tracing::Instrument as _;
use wire::status::Problem;

use super::finish::{Finished, finish};
use super::interruption::{self, Interruption};
use super::publisher::{Closed, PartSender, PublishEnd, Publisher};
use super::run_end::{CloseResult, close, end_with, fail_with, log_failure};
use super::steps::run_steps;
use super::{Generations, RunSpec, metrics, summarise, titles};

/// First wait between two attempts to close or finish a run.
const RETRY_WAIT_BASE: Duration = Duration::from_millis(250);
/// Maximum wait between two attempts to close or finish a run.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(5);

/// Executes the run and finishes it.
pub(super) async fn drive(generations: Generations, spec: RunSpec) {
    let span = tracing::info_span!(
        "gateway.run.make",
        tenant.id = spec.run.key.tenant.as_str(),
        conversation.id = spec.run.key.conversation.as_str(),
        run.id = %spec.run.run,
    );
    let run = async {
        let gauge = metrics::count_run();
        let started = Instant::now();
        if !execute_and_close(&generations, &spec).await {
            return;
        }
        let finished = finish_with_retries(&generations, &spec).await;
        drop(gauge);
        if let Ok(Finished::Finished(outcome, position)) = finished {
            metrics::run_completed(outcome, started.elapsed());
            summarise::start_if_due(&generations, &spec, position);
            if outcome == RunOutcome::Completed {
                titles::start_if_due(&generations, &spec, position);
            }
        }
    };
    run.instrument(span).await;
}

/// Executes the run and publishes its parts. Returns whether it is closed.
async fn execute_and_close(generations: &Generations, spec: &RunSpec) -> bool {
    let writer = generations.writer.clone();
    let keep_alive = generations.config.keep_alive();
    let (part_sender, publisher) = Publisher::new(writer, spec.run.clone(), keep_alive);
    let part_end = {
        let mut publishing = std::pin::pin!(publisher.run());
        let parts = send_parts(generations, spec, part_sender);
        tokio::select! {
            biased;
            end = &mut publishing => end,
            () = parts => publishing.await,
        }
    };
    let end = match part_end {
        PublishEnd::Ended => return true,
        // The run is over, or another gateway publishes its parts and its end.
        PublishEnd::NotActive | PublishEnd::Superseded | PublishEnd::SenderDropped => return false,
        PublishEnd::Stopping => end_with(RunOutcome::Stopped),
        PublishEnd::Refused(problem) => {
            tracing::error!(code = ?problem.reason().code(), "the writer refused the parts of a run");
            fail_with("parts_refused", "the writer refused the parts of the run")
        }
    };
    close_with_retries(generations, spec, end).await
}

/// Closes the run, with retries without limit. Returns whether it is closed.
async fn close_with_retries(generations: &Generations, spec: &RunSpec, end: RunEnd) -> bool {
    let result = (|| close(generations, &spec.run, end.clone()))
        .retry(exponential(RETRY_WAIT_BASE, RETRY_WAIT_MAX))
        .notify(log_retry);
    matches!(result.await, Ok(CloseResult::Closed))
}

fn log_retry(problem: &Problem, _wait: Duration) {
    let reason = problem.reason().as_str();
    tracing::warn!(reason, "a run cannot be closed or finished yet: retrying");
}

/// Sends the parts of the run to the publisher, its end last.
async fn send_parts(generations: &Generations, spec: &RunSpec, part_sender: PartSender) {
    if let Some(end) = Box::pin(execute(generations, spec, &part_sender)).await {
        log_failure(&end);
        // If the publisher has stopped, another gateway has ended the run.
        let _: Result<(), Closed> = part_sender.send(RunPartKind::RunEnded(end)).await;
    }
}

/// Executes the run and sends its parts, without its end. Returns the end; `None`: another gateway has ended the run.
async fn execute(generations: &Generations, spec: &RunSpec, part_sender: &PartSender) -> Option<RunEnd> {
    let timeout = Duration::from_millis(generations.config.run_timeout_ms);
    let (key, run) = (&spec.run.key, spec.run.run);
    tokio::select! {
        end = run_steps(generations, spec, part_sender) => end.ok(),
        interruption = interruption::wait(&generations.gateway, key, run) => match interruption {
            Interruption::StopRequested => Some(end_with(RunOutcome::Stopped)),
            Interruption::Over => None,
        },
        () = tokio::time::sleep(timeout) => {
            let message = format!("the run took longer than {} s", timeout.as_secs());
            Some(fail_with("run_timed_out", &message))
        }
        () = generations.wait_for_drain() => Some(end_with(RunOutcome::Abandoned)),
    }
}

/// Finishes a closed run, with retries without limit.
async fn finish_with_retries(generations: &Generations, spec: &RunSpec) -> Result<Finished, Problem> {
    (|| finish(generations, &spec.run, Some(spec.started.clone())))
        .retry(exponential(RETRY_WAIT_BASE, RETRY_WAIT_MAX))
        .notify(log_retry)
        .await
}
