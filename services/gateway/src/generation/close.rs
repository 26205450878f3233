//! Closes a run: publishes its end as its last part. The first publisher wins; no part follows.

use domain::{RunEnd, RunPart, RunPartKind, Sequence};
use wire::status::{Problem, Reason};

use super::publisher::request;
use super::run_key::RunKey;
use super::{Generations, parts_log};
use crate::writer::error::WriterError;

/// Maximum number of attempts. An attempt fails if another process publishes parts at the same time.
const ATTEMPTS_MAX: u32 = 32;

/// The result of closing a run.
#[derive(Debug)]
pub(super) enum CloseResult {
    /// Its end is among its parts, published by this call or another.
    Closed,
    /// It is finished, or its conversation is erased.
    Over,
}

/// Closes a run with `end`, unless it has an end.
///
/// # Errors
/// The record or the writer does not answer, or other processes keep publishing. The call can be repeated.
pub(super) async fn close(
    generations: &Generations,
    run: &RunKey,
    end: RunEnd,
) -> Result<CloseResult, Problem> {
    for _ in 0..ATTEMPTS_MAX {
        let last = parts_log::last(&generations.gateway, &run.key, run.run).await?;
        if last.as_ref().is_some_and(parts_log::Batch::ends) {
            return Ok(CloseResult::Closed);
        }
        let (previous, number) = last.map_or((Sequence(0), 1), |last| {
            (last.sequence, last.last_number() + 1)
        });
        let kind = RunPartKind::RunEnded(end.clone());
        let part = wire::run::part_to_proto(&RunPart { number, kind });
        let request = request(run, previous, vec![part]);
        let answer = generations.writer.runs().append_parts(request).await;
        match answer.map_err(WriterError::from) {
            Ok(_) => return Ok(CloseResult::Closed),
            Err(WriterError::NotActive) => return Ok(CloseResult::Over),
            // Another process publishes: read the last part again.
            Err(WriterError::Superseded | WriterError::Stopping | WriterError::RunActive(_)) => {}
            Err(WriterError::Retryable(status) | WriterError::Permanent(status)) => {
                let code = status.code();
                let message = format!("the writer rejected the end of the run: {code:?}");
                return Err(Problem::new(Reason::RecordUnavailable, message));
            }
        }
    }
    let message = "other processes keep publishing parts of the run: try again";
    Err(Problem::new(Reason::Contention, message))
}
