//! Starts a run: with what it answers, as one commit; then a task of this gateway makes it.

use std::time::Duration;

use domain::event::{MessageAppended, RunStarted};
use domain::{CallId, CommitId, ConversationKey, Label, NewEvent, RunId, UserId, Version};
use event_log::registry::AgentAccess;
use runtime::backoff::Backoff;
use tonic::{Code, Status};
use uuid::Uuid;
use wire::proto::event::v1 as event;
use wire::proto::run::v1 as proto;
use wire::proto::write::v1 as write;
use wire::proto::write::v1::CommitResult;
use wire::status::{Problem, Reason};

use super::finish::finish;
use super::run_key::{RunKey, started_by};
use super::{Generations, Making, driver, parts_log};
use crate::quotas::account::Account;
use crate::writer::refusal::Refusal;
use crate::{problem, request};
use history::Deadline;

/// The first wait before the start is sent again.
const WAIT_BASE: Duration = Duration::from_millis(25);
/// The longest wait before the start is sent again.
const WAIT_MAX: Duration = Duration::from_millis(500);
/// Most runs that are finished for others before one starts.
const FINISHED_FOR_OTHERS_MAX: u32 = 2;

/// A run to start. Whether the caller may is checked already.
#[derive(Debug)]
pub struct Start {
    /// Leave to act for the agent.
    pub access: AgentAccess,
    /// Whom it counts against.
    pub account: Account,
    /// The conversation.
    pub key: ConversationKey,
    /// What is recorded with the start, before it, such as the user's message or the results of calls; at most
    /// [`domain::bounds::RUN_EVENTS_MAX`].
    pub events: Vec<NewEvent>,
    /// The version that the conversation must be at; none: whichever.
    pub behind: Option<Version>,
    /// What the model reads in place of the conversation, before what the run comes to; none: the conversation.
    pub given: Option<Vec<MessageAppended>>,
    /// Open calls that a person has approved meanwhile: those with a webhook run before the model is asked.
    pub approved: Vec<CallId>,
    /// The conversation's owner, where a token has named them: webhooks are told.
    pub verified_user: Option<UserId>,
    /// Names this start for all of its retries.
    pub idempotency_key: Option<CommitId>,
    /// How long the caller waits.
    pub deadline: Deadline,
}

/// A run that has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunHandle {
    /// The run.
    pub run: RunId,
    /// The commit that started it: versions, and the token of its position.
    pub commit: CommitResult,
}

pub(super) async fn start(generations: &Generations, start: Start) -> Result<RunHandle, Status> {
    if generations.shutdown.has_begun() {
        return Err(draining().into());
    }
    let settings = generations.settings(&start.access)?;
    let command = start
        .idempotency_key
        .unwrap_or_else(|| CommitId(Uuid::now_v7()));
    let run = RunKey {
        agent: start.access.agent.clone(),
        key: start.key.clone(),
        run: started_by(command),
    };
    let place = match generations.place(&start.account).await {
        Ok(place) => Some(place),
        // A retry of a run that is under way needs no place of its own.
        Err(_) if is_under_way(generations, &run, start.idempotency_key).await => None,
        Err(problem) => return Err(problem.into()),
    };
    let provider = generations.models.provider(&settings.model.server);
    let started = RunStarted {
        run: run.run,
        model: settings.model.label(),
        provider: provider.and_then(|provider| Label::parse(provider).ok()),
    };
    let (commit, is_ours) = record(generations, &run, &start, &started, command).await?;
    let handle = RunHandle {
        run: run.run,
        commit,
    };
    if is_ours {
        let making = Making {
            fence: request::position_of(&generations.gateway, &handle.commit),
            run,
            started,
            access: start.access,
            account: start.account,
            settings,
            given: start.given,
            approved: start.approved,
            verified_user: start.verified_user,
            _place: place,
        };
        generations
            .shutdown
            .spawn(driver::drive(generations.clone(), making));
    }
    Ok(handle)
}

/// Whether the run that this key names is the conversation's active one already.
async fn is_under_way(generations: &Generations, run: &RunKey, key: Option<CommitId>) -> bool {
    if key.is_none() {
        return false;
    }
    let active = generations.active(&run.key).await;
    active.is_ok_and(|active| active.is_some_and(|active| active.id == run.run))
}

/// Commits the start; whether it is this call that did. A run that stands in the way and is closed already is finished.
async fn record(
    generations: &Generations,
    run: &RunKey,
    start: &Start,
    started: &RunStarted,
    command: CommitId,
) -> Result<(CommitResult, bool), Status> {
    let text = |label: &Option<Label>| {
        let label = label.as_ref();
        label
            .map(|label| label.as_str().to_owned())
            .unwrap_or_default()
    };
    let request = proto::StartRunRequest {
        target: Some(write::CommandTarget {
            expected_version: start.behind.map(|version| version.0),
            ..run.target(Some(command))
        }),
        run_id: run.run.to_string(),
        events: start.events.iter().map(new_event).collect(),
        model: text(&started.model),
        provider: text(&started.provider),
    };
    let mut backoff = Backoff::new(WAIT_BASE, WAIT_MAX);
    let mut finished = 0;
    // An earlier try of this very call may have been carried out without an answer.
    let mut is_resent = false;
    loop {
        let refusal = match generations.writer.runs().start_run(request.clone()).await {
            Ok(answer) => {
                let commit = answer.into_inner().result.unwrap_or_default();
                let is_ours = is_resent || !commit.replayed;
                return Ok((commit, is_ours));
            }
            Err(status) => (Refusal::from(status.clone()), status),
        };
        match refusal {
            (Refusal::RunActive(active), status) => {
                finished += 1;
                let active = RunKey {
                    run: active,
                    ..run.clone()
                };
                if finished > FINISHED_FOR_OTHERS_MAX || !is_finished(generations, &active).await {
                    return Err(status);
                }
            }
            (Refusal::Passing(_), status) => {
                is_resent = true;
                if start.deadline.is_over() {
                    return Err(unavailable(&status));
                }
                backoff.wait().await;
            }
            (
                Refusal::NotActive | Refusal::Stopping | Refusal::Superseded | Refusal::Lasting(_),
                status,
            ) => return Err(refused(status)),
        }
    }
}

/// Whether a run that stands in the way was closed, and is finished now.
pub(super) async fn is_finished(generations: &Generations, active: &RunKey) -> bool {
    let last = parts_log::last(&generations.gateway, &active.key, active.run).await;
    let is_closed = matches!(&last, Ok(Some(last)) if last.ends());
    is_closed && finish(generations, active, None).await.is_ok()
}

fn new_event(given: &NewEvent) -> event::Event {
    event::Event {
        event_id: given.id.map(|id| id.to_string()).unwrap_or_default(),
        occurred_at: given.occurred_at.map(wire::time::to_proto),
        metadata_json: wire::optional::json_text(given.metadata.as_ref()),
        ..wire::event::of_fact(&given.fact)
    }
}

/// What the writer says to the gateway's own token is not for the gateway's callers.
pub(super) fn refused(status: Status) -> Status {
    if !matches!(
        status.code(),
        Code::Unauthenticated | Code::PermissionDenied
    ) {
        return status;
    }
    tracing::error!(code = ?status.code(), "the writer refuses the gateway's own token: set `writer_token`");
    unavailable(&status)
}

/// The writer does not answer, or not sensibly.
pub(super) fn unavailable(status: &Status) -> Status {
    let message = format!(
        "the writer does not answer ({:?}): try again",
        status.code()
    );
    Problem::new(Reason::RecordUnavailable, message)
        .retry_after(problem::RETRY_AFTER)
        .into()
}

fn draining() -> Problem {
    let message = "this gateway is ending: ask another";
    Problem::new(Reason::Draining, message).retry_after(problem::RETRY_AFTER)
}

pub(super) fn too_many_runs(runs_max: usize) -> Problem {
    let message = format!("{runs_max} runs are being made here, which is the most: try again");
    Problem::new(Reason::Overloaded, message).retry_after(problem::RETRY_AFTER)
}
