//! Finishes a closed run: appends its folded parts and its end as one commit. Every gateway appends the same commit.

use std::time::Duration;

use backoff::{Backoff, exponential};
use backon::Retryable as _;
use domain::event::{ErrorOccurred, RunStarted};
use domain::{
    ConversationKey, EventKind, Fact, Label, Lifecycle, Position, RunEnd, RunId, RunOutcome, RunPartKind, Sequence,
};
use history::{CommitPosition, Direction, Range, Snapshot};
use runs::RunFold;
use wire::proto::run::v1 as proto;
use wire::status::{Problem, Reason};
use wire::token::PositionToken;

use super::run_parts::fits_an_event;
use super::{Generations, RunKey, metrics, parts_log, read_last_commit};
use record_access::request;
use record_access::writer::WriterError;

/// The error type of a run that cannot be recorded completely.
const UNRECORDABLE: &str = "run_unrecordable";
/// Maximum number of retries of the commit while the writer does not answer.
const RETRIES_MAX: usize = 8;
/// First wait between two attempts to commit.
const WAIT_BASE: Duration = Duration::from_millis(25);
/// Maximum wait between two attempts to commit.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// Maximum wait for the finishing commit of a closed run.
const FINISH_WAIT_MAX: Duration = Duration::from_secs(10);
/// First wait between two polls.
const POLL_WAIT_BASE: Duration = Duration::from_millis(5);
/// Maximum wait between two polls.
const POLL_WAIT_MAX: Duration = Duration::from_millis(100);
/// Maximum number of polls for the end of a closed run on a replica that lags: about two seconds.
const END_POLLS_MAX: usize = 24;

/// The result of finishing a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finished {
    /// Its finishing commit is in the record, by this call or another: its outcome and position.
    Finished(RunOutcome, Option<Position>),
    /// It was over before, or its conversation is erased.
    Over,
}

/// Finishes a closed run. `started` is the recorded event, if the caller has it.
///
/// # Errors
/// The record or the writer does not answer, or the run is not closed. The call can be repeated.
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
    let result = read_result(generations, run, started).await?;
    for (events, is_complete) in result.variants() {
        match commit(generations, run, result.end.outcome, &events).await {
            Ok(finished) => {
                let label = if is_complete { result.end.outcome.as_str() } else { "unrecordable" };
                metrics::run_finished(label);
                return Ok(finished);
            }
            Err(WriterError::NotActive) => return Ok(Finished::Over),
            Err(WriterError::Permanent(problem)) => {
                tracing::error!(run.id = %run.run, code = ?problem.reason().code(), "the writer rejected the events of a run");
            }
            Err(
                WriterError::Retryable(_) | WriterError::Stopping | WriterError::Superseded | WriterError::RunActive(_),
            ) => break,
        }
    }
    let message = "the writer did not finish the run: try again";
    Err(Problem::new(Reason::RecordUnavailable, message))
}

impl Generations {
    /// Waits until the finishing commit of a run with published end is in the record, for at most ten seconds. Returns the
    /// position of the conversation's last commit; `None`: the run is not finished yet. The caller checks access first.
    pub async fn wait_for_finish(&self, key: &ConversationKey, run: RunId) -> Option<CommitPosition> {
        let position = async {
            let mut backoff = Backoff::new(POLL_WAIT_BASE, POLL_WAIT_MAX);
            loop {
                if let Ok(Some((head, sequence))) = read_last_commit(&self.gateway, key).await
                    && head.active_run.is_none_or(|active| active.id != run)
                {
                    let version = head.version;
                    return CommitPosition { version, sequence };
                }
                backoff.wait().await;
            }
        };
        tokio::time::timeout(FINISH_WAIT_MAX, position).await.ok()
    }

    /// The token of [`Self::wait_for_finish`].
    pub async fn recorded(&self, key: &ConversationKey, run: RunId) -> Option<PositionToken> {
        let position = self.wait_for_finish(key, run).await?;
        position.token(&self.gateway.reader.archive, key).await.ok()
    }
}

/// The folded parts of a run.
struct RunResult {
    facts: Vec<Fact>,
    end: RunEnd,
    is_complete: bool,
}

impl RunResult {
    /// The events to try, each with whether it is complete: first all facts; if the conversation rejects them, the messages
    /// alone; if it rejects those too, only an error.
    fn variants(&self) -> Vec<(Vec<Fact>, bool)> {
        let failed: Vec<Fact> = Label::parse(UNRECORDABLE)
            .map(|error_type| {
                Fact::from(ErrorOccurred {
                    error_type,
                    message: "not all that the run came to could be recorded".to_owned(),
                })
            })
            .into_iter()
            .collect();
        let is_message = |fact: &&Fact| matches!(fact, Fact::MessageAppended(_)) && fits_an_event(fact);
        let messages: Vec<Fact> = self.facts.iter().filter(is_message).cloned().chain(failed.clone()).collect();
        vec![(self.facts.clone(), self.is_complete), (messages, false), (failed, false)]
    }
}

/// Reads and folds the parts of a run.
async fn read_result(generations: &Generations, run: &RunKey, started: RunStarted) -> Result<RunResult, Problem> {
    let mut fold = RunFold::new(started);
    let mut after = Sequence(0);
    let mut error = None;
    // The end is published: a replica that lags has it soon.
    let mut backoff = Backoff::bounded(POLL_WAIT_BASE, POLL_WAIT_MAX, END_POLLS_MAX);
    loop {
        let page = parts_log::page(&generations.gateway, &run.key, run.run, after).await?;
        for batch in &page.batches {
            after = batch.sequence;
            for part in &batch.parts {
                error = error.or(fold.absorb(part).err());
                if let RunPartKind::RunEnded(end) = &part.kind {
                    return Ok(result(&fold, end, error));
                }
            }
        }
        if !page.has_more && !backoff.wait().await {
            let message = "the end of the run is not readable yet: try again";
            return Err(Problem::new(Reason::RecordUnavailable, message));
        }
    }
}

/// The result of a fold. After an error, for example expired parts, it holds the facts from before the error.
fn result(fold: &RunFold, end: &RunEnd, error: Option<runs::FoldError>) -> RunResult {
    if let Some(error) = error {
        tracing::error!(run.id = %fold.started().run, %error, "the parts of a run cannot be folded");
    }
    RunResult { facts: fold.facts(), end: end.clone(), is_complete: error.is_none() }
}

async fn commit(
    generations: &Generations,
    run: &RunKey,
    outcome: RunOutcome,
    facts: &[Fact],
) -> Result<Finished, WriterError> {
    let request = proto::FinishRunRequest {
        target: Some(run.target(Some(run.run.finish_commit()))),
        run_id: run.run.to_string(),
        outcome: wire::event::outcome_to_proto(outcome).into(),
        events: facts.iter().map(wire::event::fact_to_proto).collect(),
    };
    let finish = || async { generations.writer.runs().finish_run(request.clone()).await.map_err(WriterError::from) };
    let answer = finish
        .retry(exponential(WAIT_BASE, WAIT_MAX).with_max_times(RETRIES_MAX))
        .when(WriterError::is_retryable)
        .await?;
    let result = answer.into_inner().result.unwrap_or_default();
    let position = request::position_of(&generations.gateway, &result);
    Ok(Finished::Finished(outcome, position))
}

/// The recorded start of an active run; `None`: the run is not active, or its conversation is erased.
async fn read_started(generations: &Generations, run: &RunKey) -> Result<Option<RunStarted>, Problem> {
    let Some(target) = generations.target(&run.agent, &run.key).await else {
        return Ok(None);
    };
    let range = Range { kinds: &[EventKind::RunStarted], ..Range::all(Direction::Backward) };
    let reader = &generations.gateway.reader;
    let event = match Snapshot::newest_recorded(reader, &target, range).await {
        Err(problem) if problem.reason() == Reason::ConversationNotFound => return Ok(None),
        found => found?,
    };
    let Some(Fact::Lifecycle(Lifecycle::RunStarted(started))) = event.map(|event| event.event.fact) else {
        return Ok(None);
    };
    Ok((started.run == run.run).then_some(started))
}
