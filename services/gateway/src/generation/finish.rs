//! Finishes a closed run: what its parts came to, and its end, as one commit. Anybody may; it is the same commit.

use std::time::Duration;

use backon::Retryable as _;
use domain::event::{ErrorOccurred, RunStarted};
use domain::{
    ConversationKey, EventKind, Fact, Label, Lifecycle, Position, RunEnd, RunId, RunOutcome,
    RunPart, RunPartKind, Sequence,
};
use history::{CommitPosition, Direction, Query, Snapshot};
use runs::RunFold;
use runtime::backoff::{Backoff, exponential};
use wire::proto::run::v1 as proto;
use wire::status::{Problem, Reason};

use super::run_key::RunKey;
use super::{Generations, last_of, metrics, parts_log, pieces};
use crate::request;
use crate::writer::refusal::Refusal;

/// The error of a run of which not all can be recorded.
const UNRECORDABLE: &str = "run_unrecordable";
/// Most times that the commit is sent again while the writer does not answer.
const RETRIES_MAX: usize = 8;
/// The first wait before it is sent again.
const WAIT_BASE: Duration = Duration::from_millis(25);
/// The longest wait before it is sent again.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// The longest wait for a run that has come to its end to be finished.
const FINISHED_WITHIN: Duration = Duration::from_secs(2);
/// The first wait between two looks whether it is.
const LOOK_WAIT_BASE: Duration = Duration::from_millis(5);
/// Most looks for the end of a closed run on a replica that lags: about two seconds.
const END_LOOKS_MAX: usize = 24;
/// The longest wait between two looks.
const LOOK_WAIT_MAX: Duration = Duration::from_millis(100);

/// What became of finishing a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finished {
    /// Its finishing commit is in the record, by this call or another: its outcome and position.
    Finished(RunOutcome, Option<Position>),
    /// It was over already, or its conversation is gone.
    Over,
}

/// Finishes a closed run. `started` is the recorded event, where the caller has it.
///
/// # Errors
/// The record or the writer does not answer, or the run is not closed: the same call may be made again.
pub(super) async fn finish(
    generations: &Generations,
    run: &RunKey,
    started: Option<RunStarted>,
) -> Result<Finished, Problem> {
    let started = match started {
        Some(started) => started,
        None => match read_started(generations, run).await? {
            Some(started) => started,
            None => return Ok(Finished::Over),
        },
    };
    let came = read(generations, run, started).await?;
    for (events, is_whole) in came.versions() {
        match commit(generations, run, came.end.outcome, &events).await {
            Ok(finished) => {
                let label = if is_whole {
                    metrics::outcome_label(came.end.outcome)
                } else {
                    "unrecordable"
                };
                metrics::run_finished(label);
                return Ok(finished);
            }
            Err(Refusal::NotActive) => return Ok(Finished::Over),
            Err(Refusal::Lasting(status)) => {
                tracing::error!(run.id = %run.run, code = ?status.code(), "what a run came to cannot be recorded");
            }
            Err(
                Refusal::Passing(_)
                | Refusal::Stopping
                | Refusal::Superseded
                | Refusal::RunActive(_),
            ) => break,
        }
    }
    let message = "the writer does not finish the run: try again";
    Err(Problem::new(Reason::RecordUnavailable, message))
}

/// Waits until a run is not under way any more, or for [`FINISHED_WITHIN`]; where the conversation is then, if it is in time.
pub(super) async fn wait(
    generations: &Generations,
    key: &ConversationKey,
    run: RunId,
) -> Option<CommitPosition> {
    let is_over = async {
        let mut backoff = Backoff::new(LOOK_WAIT_BASE, LOOK_WAIT_MAX);
        loop {
            if let Ok(Some((head, sequence))) = last_of(&generations.gateway, key).await
                && head.active_run.is_none_or(|active| active.id != run)
            {
                let version = head.version;
                return CommitPosition { version, sequence };
            }
            backoff.wait().await;
        }
    };
    // The caller has the answer already: its commit comes later then.
    tokio::time::timeout(FINISHED_WITHIN, is_over).await.ok()
}

/// What a run came to.
struct Came {
    facts: Vec<Fact>,
    end: RunEnd,
    is_whole: bool,
}

impl Came {
    /// What to record, and whether that is all: first all of it; should the conversation not take that, what was said;
    /// should it not take that either, that there was something.
    fn versions(&self) -> Vec<(Vec<Fact>, bool)> {
        let failed = Label::parse(UNRECORDABLE).map(|error_type| {
            Fact::from(ErrorOccurred {
                error_type,
                message: "not all that the run came to could be recorded".to_owned(),
            })
        });
        let failed: Vec<Fact> = failed.into_iter().collect();
        let said =
            |fact: &&Fact| matches!(fact, Fact::MessageAppended(_)) && pieces::fits_an_event(fact);
        let said = self.facts.iter().filter(said).cloned();
        let said: Vec<Fact> = said.chain(failed.clone()).collect();
        vec![
            (self.facts.clone(), self.is_whole),
            (said, false),
            (failed, false),
        ]
    }
}

/// Folds the parts of a run.
async fn read(
    generations: &Generations,
    run: &RunKey,
    started: RunStarted,
) -> Result<Came, Problem> {
    let mut fold = RunFold::new(started);
    let mut after = Sequence(0);
    let mut fault = None;
    // The end was published before: a replica that lags has it soon.
    let mut backoff = Backoff::bounded(LOOK_WAIT_BASE, LOOK_WAIT_MAX, END_LOOKS_MAX);
    loop {
        let page = parts_log::page(&generations.gateway, &run.key, run.run, after).await?;
        for batch in &page.batches {
            after = batch.sequence;
            for part in &batch.parts {
                fault = fault.or(fold.absorb(part).err());
                if let Some(end) = end_of(part) {
                    return Ok(came(&fold, end, fault));
                }
            }
        }
        if !page.has_more && !backoff.wait().await {
            let message = "the end of the run is not there yet: try again";
            return Err(Problem::new(Reason::RecordUnavailable, message));
        }
    }
}

fn end_of(part: &RunPart) -> Option<&RunEnd> {
    if let RunPartKind::RunEnded(end) = &part.kind {
        return Some(end);
    }
    None
}

/// What a fold came to; after a fault, such as parts that have grown too old, that is what came before it.
fn came(fold: &RunFold, end: &RunEnd, fault: Option<runs::FoldError>) -> Came {
    if let Some(fault) = fault {
        tracing::error!(run.id = %fold.started().run, fault = %fault, "a run's parts cannot be folded");
    }
    Came {
        facts: fold.facts(),
        end: end.clone(),
        is_whole: fault.is_none(),
    }
}

async fn commit(
    generations: &Generations,
    run: &RunKey,
    outcome: RunOutcome,
    facts: &[Fact],
) -> Result<Finished, Refusal> {
    let request = proto::FinishRunRequest {
        target: Some(run.target(Some(run.finishing()))),
        run_id: run.run.to_string(),
        outcome: wire::event::outcome_to_proto(outcome).into(),
        events: facts.iter().map(wire::event::of_fact).collect(),
    };
    let finish = || async {
        let answer = generations.writer.runs().finish_run(request.clone()).await;
        answer.map_err(Refusal::from)
    };
    let answer = finish
        .retry(exponential(WAIT_BASE, WAIT_MAX).with_max_times(RETRIES_MAX))
        .when(Refusal::is_passing)
        .await?;
    let result = answer.into_inner().result.unwrap_or_default();
    let position = request::position_of(&generations.gateway, &result);
    Ok(Finished::Finished(outcome, position))
}

/// The recorded start of a run that is under way; `None`: it is not, or its conversation is gone.
async fn read_started(
    generations: &Generations,
    run: &RunKey,
) -> Result<Option<RunStarted>, Problem> {
    let Some(target) = generations.target(&run.agent, &run.key).await else {
        return Ok(None);
    };
    let query = Query {
        kinds: &[EventKind::RunStarted],
        ..Query::all(Direction::Backward)
    };
    let reader = &generations.gateway.reader;
    let event = match Snapshot::newest_recorded(reader, &target, query).await {
        Err(problem) if problem.reason() == Reason::ConversationNotFound => return Ok(None),
        found => found?,
    };
    let Some(Fact::Lifecycle(Lifecycle::RunStarted(started))) = event.map(|event| event.event.fact)
    else {
        return Ok(None);
    };
    Ok((started.run == run.run).then_some(started))
}
