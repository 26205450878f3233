//! Closes a run: its end becomes the last of its parts. Whoever wins that publish closed it; nothing follows.

use domain::{RunEnd, RunPart, RunPartKind, Sequence};
use wire::status::{Problem, Reason};

use super::publisher::request;
use super::run_key::RunKey;
use super::{Generations, parts_log};
use crate::writer::refusal::Refusal;

/// Most times that the last part is looked for: each means that somebody else published meanwhile.
const ATTEMPTS_MAX: u32 = 32;

/// What became of closing a run.
#[derive(Debug)]
pub(super) enum Closing {
    /// Its end stands among its parts, put there by whomever.
    Closed,
    /// It is over, or its conversation is gone.
    Over,
}

/// Closes a run with an end, unless it has one.
///
/// # Errors
/// The record or the writer does not do it: the same call may be made again.
pub(super) async fn close(
    generations: &Generations,
    run: &RunKey,
    end: RunEnd,
) -> Result<Closing, Problem> {
    for _ in 0..ATTEMPTS_MAX {
        let last = parts_log::last(&generations.gateway, &run.key, run.run).await?;
        if last.as_ref().is_some_and(parts_log::Batch::ends) {
            return Ok(Closing::Closed);
        }
        let (previous, number) = last.map_or((Sequence(0), 1), |last| {
            (last.sequence, last.last_number() + 1)
        });
        let kind = RunPartKind::RunEnded(end.clone());
        let part = wire::run::part_to_proto(&RunPart { number, kind });
        let request = request(run, previous, vec![part]);
        let answer = generations.writer.runs().append_parts(request).await;
        match answer.map_err(Refusal::from) {
            Ok(_) => return Ok(Closing::Closed),
            Err(Refusal::NotActive) => return Ok(Closing::Over),
            // Others publish: what is last now?
            Err(Refusal::Superseded | Refusal::Stopping | Refusal::RunActive(_)) => {}
            Err(Refusal::Passing(status) | Refusal::Lasting(status)) => {
                let code = status.code();
                let message = format!("the writer does not take the end of the run: {code:?}");
                return Err(Problem::new(Reason::RecordUnavailable, message));
            }
        }
    }
    let message = "others keep publishing parts of the run: try again";
    Err(Problem::new(Reason::Contention, message))
}
