//! Starts a run: appends its start and the events that it answers as one commit, then spawns the task that executes it.

use std::time::Duration;

use backoff::Backoff;
use domain::event::RunStarted;
use domain::{
    CallId, CommitId, ConversationKey, Fact, Head, Label, NewEvent, Owner, RunId, Timestamp, UserId, Version,
};
use formats::RequestSettings;
use tonic::{Response, Status};
use wire::conversation::owner_to_proto;
use wire::proto::event::v1 as event;
use wire::proto::run::v1 as proto;
use wire::proto::write::v1 as write;
use wire::proto::write::v1::CommitResult;
use wire::status::{Problem, Reason};

use super::finish::finish;
use super::run_key::RunKey;
use super::{Generations, RunSpec, driver, parts_log, request_settings};
use crate::quotas::account::Account;
use history::Deadline;
use record_access::commands::{COMMAND_MAX, command_target, own_problem};
use record_access::request_hash::RequestHash;
use record_access::writer::{ATTEMPT_MAX, Repeated, WriterClient, WriterError};
use record_access::{positions, problem, request};

/// First wait between two attempts to start.
const WAIT_BASE: Duration = Duration::from_millis(25);
/// Maximum wait between two attempts to start.
const WAIT_MAX: Duration = Duration::from_millis(500);
/// Maximum number of closed runs that one start finishes first.
const RUNS_FINISHED_MAX: u32 = 2;

/// A request to start a run. The caller checks access first.
#[derive(Debug)]
pub struct Start {
    /// The account that the run counts against, with the right to act for the agent.
    pub account: Account,
    /// The conversation.
    pub key: ConversationKey,
    /// The events that are recorded before the start in the same commit, for example the user's message or results of
    /// calls. A new conversation, and a start that is recognised by its request, take more than one commit has room for.
    pub events: Vec<NewEvent>,
    /// Where the run starts.
    pub at: StartAt,
    /// What the model reads instead of the conversation; `None`: the conversation.
    pub history: Option<Vec<Fact>>,
    /// What the request sets instead of the agent's settings; `None`: nothing.
    pub settings: Option<RequestSettings>,
    /// Open calls that a person has approved. Those with a webhook are posted before the model is called.
    pub approved_calls: Vec<CallId>,
    /// The conversation's owner, if a token has named them. It is sent to webhooks.
    pub verified_user: Option<UserId>,
    /// How the attempts of this start are recognised.
    pub retry: RetryKey,
}

/// How the attempts of one start are recognised.
#[derive(Debug, Clone, Copy, Default)]
pub enum RetryKey {
    /// Not at all: each attempt is another start.
    #[default]
    None,
    /// By a key of the caller.
    Given(CommitId),
    /// By the request and the commit before it.
    Request {
        /// The request.
        hash: RequestHash,
        /// When the commit was recorded; now in a new conversation.
        after: Timestamp,
    },
}

impl Start {
    /// A start of a run that reads the conversation, with the agent's settings.
    #[must_use]
    pub fn new(account: Account, key: ConversationKey, events: Vec<NewEvent>, at: StartAt) -> Self {
        Self {
            account,
            key,
            events,
            at,
            history: None,
            settings: None,
            approved_calls: Vec::new(),
            verified_user: None,
            retry: RetryKey::None,
        }
    }

    /// The id of the starting commit in all attempts; `None`: each attempt has another one. After commits before it, a start by
    /// [`RetryKey::Request`] has another one too.
    pub(super) fn repeated_key(&self) -> Option<CommitId> {
        let version = match self.at {
            StartAt::Version(version) => version,
            StartAt::AnyVersion | StartAt::New(_) => Version::ZERO,
        };
        match self.retry {
            RetryKey::None => None,
            RetryKey::Given(key) => Some(key),
            RetryKey::Request { hash, after } => Some(hash.key(version, after)),
        }
    }

    /// The target of a command at the version where the run starts, with this idempotency key.
    pub(super) fn target(&self, key: CommitId) -> write::CommandTarget {
        let expected_version = match self.at {
            StartAt::Version(version) => Some(version.0),
            StartAt::AnyVersion | StartAt::New(_) => None,
        };
        let target = command_target(&self.account.access.agent, &self.key.conversation, Some(key));
        write::CommandTarget { expected_version, ..target }
    }

    /// The command that creates the conversation with these events; `key`: its idempotency key.
    pub(super) fn creation(
        &self,
        new: &NewConversation,
        events: &[NewEvent],
        key: CommitId,
    ) -> write::CreateConversationRequest {
        write::CreateConversationRequest {
            agent_id: self.account.access.agent.to_string(),
            conversation_id: self.key.conversation.to_string(),
            idempotency_key: key.to_string(),
            owner: Some(owner_to_proto(&new.owner)),
            metadata_json: new.metadata_json.clone(),
            forked_from: new.forked_from.clone(),
            events: to_proto(events),
            ..write::CreateConversationRequest::default()
        }
    }
}

/// Where a run starts.
#[derive(Debug, Clone)]
pub enum StartAt {
    /// In a conversation that exists, at any version.
    AnyVersion,
    /// In a conversation that has this version.
    Version(Version),
    /// In a conversation that the same commit creates.
    New(NewConversation),
}

/// A conversation that its first run creates.
#[derive(Debug, Clone)]
pub struct NewConversation {
    /// Its owner.
    pub owner: Owner,
    /// Its metadata: JSON text of an object; empty: none.
    pub metadata_json: String,
    /// Where it leaves another conversation; `None`: it is no fork.
    pub forked_from: Option<event::ForkPoint>,
}

/// A run that has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedRun {
    /// The run.
    pub run: RunId,
    /// The result of the starting commit.
    pub commit: CommitResult,
}

impl Generations {
    /// Starts a run. It continues in a task of its own.
    ///
    /// # Errors
    /// `RUN_ACTIVE`, with the active run's id; `CONVERSATION_EXISTS` for a new one; any other refusal of the writer; `OVERLOADED`: `runs_max` is reached;
    /// `DRAINING`: the gateway shuts down; `RECORD_UNAVAILABLE`: the writer does not answer in time.
    pub async fn start(&self, mut start: Start) -> Result<StartedRun, Problem> {
        if self.shutdown.has_begun() {
            let message = "this gateway is shutting down: try another one";
            return Err(Problem::new(Reason::Draining, message).retry_after(problem::RETRY_AFTER));
        }
        let mut settings = self.settings(&start.account.access)?;
        if let Some(request) = &start.settings {
            request_settings::check(request, &self.models, &settings.model)?;
            request_settings::choose(request, &mut settings.model);
            // The caller runs the tools of the request.
            settings.rules.clear();
        }
        let permit = match self.acquire(&start.account).await {
            Ok(permit) => Some(permit),
            // The first attempt of this start holds a permit.
            Err(_) if is_active(self, &start).await => None,
            Err(problem) => return Err(problem),
        };
        let command = self.record_first(&mut start).await?;
        let run =
            RunKey { agent: start.account.access.agent.clone(), key: start.key.clone(), run: command.started_run() };
        let provider = self.models.provider(&settings.model.server);
        let started = RunStarted {
            run: run.run,
            model: settings.model.label(),
            provider: provider.and_then(|provider| Label::parse(provider).ok()),
        };
        let (commit, is_ours) = commit_start(self, &run, &start, &started, command).await?;
        positions::record_write(&commit.position_token);
        let handle = StartedRun { run: run.run, commit };
        if is_ours {
            let spec = RunSpec {
                fence: request::position_of(&self.gateway, &handle.commit),
                run,
                started,
                account: start.account,
                settings,
                history: start.history,
                request: start.settings,
                approved_calls: start.approved_calls,
                verified_user: start.verified_user,
                _permit: permit,
            };
            self.shutdown.spawn(driver::drive(self.clone(), spec));
        }
        Ok(handle)
    }

    /// Finishes the active run of a conversation if the run's parts have ended, because a turn starts after the answer before it.
    /// Returns whether the head is out of date now. The caller checks access first.
    pub async fn finish_active(&self, key: &ConversationKey, head: &Head) -> bool {
        let Some(active) = &head.active_run else {
            return false;
        };
        self.finish_if_closed(&RunKey { agent: head.agent.clone(), key: key.clone(), run: active.id }).await
    }

    /// Finishes a run if its end is among its parts. Returns whether it is over now; `false`: it continues, or the record
    /// does not answer. The caller checks access first.
    pub async fn finish_if_closed(&self, run: &RunKey) -> bool {
        let last = parts_log::last(&self.gateway, &run.key, run.run).await;
        let is_closed = matches!(&last, Ok(Some(last)) if last.ends());
        is_closed && finish(self, run, None).await.is_ok()
    }
}

/// Whether an earlier attempt has started the run.
async fn is_active(generations: &Generations, start: &Start) -> bool {
    let Some(command) = start.repeated_key() else {
        return false;
    };
    let active = generations.active(&start.key).await;
    active.is_ok_and(|active| active.is_some_and(|active| active.id == command.started_run()))
}

/// The command that starts a run.
enum StartCommand {
    InConversation(proto::StartRunRequest),
    WithConversation(Box<write::CreateConversationRequest>),
}

impl StartCommand {
    fn of(run: &RunKey, start: &Start, started: &RunStarted, command: CommitId) -> Self {
        let text = |label: &Option<Label>| {
            let label = label.as_ref();
            label.map(|label| label.as_str().to_owned()).unwrap_or_default()
        };
        let run_id = run.run.to_string();
        let (model, provider) = (text(&started.model), text(&started.provider));
        if let StartAt::New(new) = &start.at {
            return Self::WithConversation(Box::new(write::CreateConversationRequest {
                run: Some(write::NewRun { run_id, model, provider }),
                ..start.creation(new, &start.events, command)
            }));
        }
        Self::InConversation(proto::StartRunRequest {
            target: Some(start.target(command)),
            run_id,
            events: to_proto(&start.events),
            model,
            provider,
        })
    }

    /// Sends it. Returns also whether an earlier attempt of this call may have succeeded without an answer.
    async fn send(&self, writer: &WriterClient) -> Result<(CommitResult, bool), Status> {
        let (result, is_repeated) = match self {
            Self::InConversation(request) => {
                let answer = writer.runs().start_run(request.clone()).await?;
                let is_repeated = is_repeated(&answer);
                (answer.into_inner().result, is_repeated)
            }
            Self::WithConversation(request) => {
                let mut writer = writer.write(ATTEMPT_MAX);
                let answer = writer.create_conversation(request.as_ref().clone()).await?;
                let is_repeated = is_repeated(&answer);
                (answer.into_inner().result, is_repeated)
            }
        };
        Ok((result.unwrap_or_default(), is_repeated))
    }
}

/// Appends the start. Returns whether this call appended it. An active run that is closed is finished first.
async fn commit_start(
    generations: &Generations,
    run: &RunKey,
    start: &Start,
    started: &RunStarted,
    command: CommitId,
) -> Result<(CommitResult, bool), Problem> {
    let command = StartCommand::of(run, start, started, command);
    let deadline = Deadline::until(None).at_most(COMMAND_MAX);
    let mut backoff = Backoff::new(WAIT_BASE, WAIT_MAX);
    let mut finished = 0;
    // An earlier attempt of this call may have succeeded without an answer.
    let mut is_retry = false;
    loop {
        let status = match command.send(&generations.writer).await {
            Ok((commit, is_repeated)) => {
                let is_ours = is_retry || is_repeated || !commit.replayed;
                return Ok((commit, is_ours));
            }
            Err(status) => status,
        };
        let problem = own_problem(status);
        match WriterError::from(problem.clone()) {
            WriterError::RunActive(active) => {
                finished += 1;
                let active = RunKey { run: active, ..run.clone() };
                if finished > RUNS_FINISHED_MAX || !generations.finish_if_closed(&active).await {
                    return Err(problem);
                }
            }
            WriterError::Retryable(_) if problem.reason() != Reason::WriterUnavailable => {
                is_retry = true;
                if deadline.is_over() {
                    return Err(unavailable(&problem));
                }
                backoff.wait().await;
            }
            WriterError::Retryable(_)
            | WriterError::NotActive
            | WriterError::Stopping
            | WriterError::Superseded
            | WriterError::Permanent(_) => return Err(problem),
        }
    }
}

fn is_repeated<T>(answer: &Response<T>) -> bool {
    answer.extensions().get::<Repeated>().is_some()
}

/// Events as the writer gets them.
pub(super) fn to_proto(events: &[NewEvent]) -> Vec<event::Event> {
    events.iter().map(new_event).collect()
}

pub(super) fn new_event(given: &NewEvent) -> event::Event {
    event::Event {
        event_id: given.id.map(|id| id.to_string()).unwrap_or_default(),
        occurred_at: given.occurred_at.map(wire::time::to_proto),
        metadata_json: wire::optional::json_text(given.metadata.as_ref()),
        ..wire::event::fact_to_proto(&given.fact)
    }
}

/// The writer does not answer.
fn unavailable(problem: &Problem) -> Problem {
    let message = format!("the writer does not answer ({:?}): try again", problem.reason().code());
    Problem::new(Reason::RecordUnavailable, message).retry_after(problem::RETRY_AFTER)
}

pub(super) fn too_many_runs(runs_max: usize) -> Problem {
    let message = format!("this gateway has {runs_max} active runs, its maximum: try again");
    Problem::new(Reason::Overloaded, message).retry_after(problem::RETRY_AFTER)
}
