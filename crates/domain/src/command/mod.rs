//! Commands and the decisions about them: pure functions from a head and a command to events. One file a command.

mod append_events;
mod append_parts;
mod archive;
mod change_owner;
mod create;
mod erase;
mod finish_run;
mod fork;
mod restore;
mod start_run;
mod stop_run;
mod update;

use thiserror::Error;

pub use append_events::NewEvent;
pub use append_parts::check_parts;
pub use erase::ForkRule;
pub use finish_run::FinishRun;
pub use fork::{ForkSource, fork_source};
pub use start_run::StartRun;

use crate::event::{ConversationCreated, ConversationUpdated, Event, EventTokens, Lifecycle};
use crate::head::{Head, Status};
use crate::id::{AgentId, CallId, CommitId, RunId};
use crate::owner::Owner;
use crate::position::Version;
use crate::time::Timestamp;

/// Something that a caller wants to happen to a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The commit that it becomes.
    pub commit: CommitId,
    /// The agent that the caller acts for; a conversation of another agent is as good as missing.
    pub agent: AgentId,
    /// What the caller believes the conversation's version to be.
    pub expectation: Expectation,
    /// What should happen.
    pub action: Action,
}

/// What a caller believes a conversation's version to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// Anything: append after whatever is there.
    Any,
    /// This one: else somebody was faster, and the caller wants to know.
    Exact(Version),
}

/// What should happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Begin the conversation.
    Create {
        /// What it begins with.
        created: Box<ConversationCreated>,
        /// When it began, where the caller knows.
        occurred_at: Option<Timestamp>,
    },
    /// Append events.
    Append(Vec<NewEvent>),
    /// Change title, metadata or provider ids.
    Update(Box<ConversationUpdated>),
    /// Close it for events.
    Archive,
    /// Open it again.
    Restore,
    /// Erase it for good.
    Erase {
        /// Who it must belong to; none: anybody.
        expected: Option<Owner>,
        /// What becomes of forks that read through it.
        forks: ForkRule,
    },
    /// Make it someone else's.
    ChangeOwner {
        /// Who it belongs to from now on.
        owner: Owner,
        /// Who it must belong to; none: anybody.
        expected: Option<Owner>,
    },
    /// Start a generation.
    StartRun(Box<StartRun>),
    /// Ask a generation to stop.
    StopRun(RunId),
    /// Finish a generation.
    FinishRun(Box<FinishRun>),
}

/// What follows from a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// These events, as one commit.
    Commit(Vec<Event>),
    /// Nothing: things are already as they should be.
    Unchanged,
}

/// Why a command cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Rejection {
    /// There is no such conversation for this caller.
    #[error("no such conversation")]
    NotFound,
    /// A conversation with this id is there already.
    #[error("a conversation with this id exists already")]
    AlreadyExists,
    /// Somebody was faster.
    #[error("the conversation is at version {current}, not at {expected}")]
    VersionConflict {
        /// The version that the caller believed in.
        expected: Version,
        /// The version that the conversation is at.
        current: Version,
    },
    /// It is archived.
    #[error("the conversation is archived: restore it first")]
    Archived,
    /// It was erased.
    #[error("the conversation was erased: begin a new one")]
    Erased,
    /// A result for a call that is not open: it was never made, or has its result already.
    #[error(
        "events[{index}]: no open call with this id: it was never made, or has its result already"
    )]
    CallNotOpen {
        /// The place of the event in the command.
        index: usize,
        /// The call.
        call_id: CallId,
    },
    /// A call under the id of one that still waits.
    #[error("events[{index}]: a call with this id still waits for its result")]
    CallAlreadyOpen {
        /// The place of the event in the command.
        index: usize,
        /// The call.
        call_id: CallId,
    },
    /// A result that names another tool than its call.
    #[error("events[{index}]: the call with this id is of another tool")]
    ToolMismatch {
        /// The place of the event in the command.
        index: usize,
        /// The call.
        call_id: CallId,
    },
    /// Another generation goes on.
    #[error("run {run} goes on in the conversation: wait for its end, or stop it")]
    RunActive {
        /// The run that goes on.
        run: RunId,
    },
    /// The generation is not the one that goes on.
    #[error("the run is not the conversation's active one: it is over, or never began")]
    RunNotActive,
    /// The generation was asked to stop.
    #[error("the run was asked to stop: no part is taken but its end")]
    RunStopping,
    /// It belongs to somebody else than the caller believed.
    #[error("the conversation belongs to somebody else than `expected_owner`")]
    OwnerMismatch,
    /// A channel's conversation stays the channel's, and no other becomes one.
    #[error(
        "the owner of a channel's conversation does not change, and no other conversation becomes a channel's"
    )]
    OwnerFixed,
    /// There is nothing to fork from.
    #[error("no such conversation for this agent, or it does not reach that version")]
    ForkPointMissing,
    /// Too many conversations would stand behind the fork.
    #[error("{depth_max} conversations stand behind it already, one behind the other: no more may")]
    ForkTooDeep {
        /// The bound.
        depth_max: u32,
    },
    /// More calls would wait than may.
    #[error("events[{index}]: {open_max} calls wait for their results already, no more may")]
    TooManyOpenCalls {
        /// The place of the event in the command.
        index: usize,
        /// The bound.
        open_max: usize,
    },
    /// A summary of what has not happened yet.
    #[error("events[{index}]: summarises through version {through}, the event before it is {last}")]
    SummaryBeyondHistory {
        /// The place of the event in the command.
        index: usize,
        /// How far it says it reaches.
        through: Version,
        /// The version of the event before it.
        last: Version,
    },
    /// A rewind to what has not happened yet.
    #[error("events[{index}]: goes back to version {to}, the event before it is {last}")]
    RewindBeyondHistory {
        /// The place of the event in the command.
        index: usize,
        /// The version that it says it goes back to.
        to: Version,
        /// The version of the event before it.
        last: Version,
    },
    /// A summary that reaches no further than an earlier one.
    #[error("events[{index}]: a summary through version {reached} is there already: reach further")]
    SummaryStale {
        /// The place of the event in the command.
        index: usize,
        /// How far the earlier one reaches.
        reached: Version,
    },
}

/// Decides what follows from a command in the state that `head` tells; `None` is a conversation that is not there.
///
/// # Errors
/// A [`Rejection`]: the same command on the same head is rejected again.
pub fn decide(head: Option<&Head>, command: &Command) -> Result<Decision, Rejection> {
    let mut decision = decide_facts(head, command)?;
    if let Decision::Commit(events) = &mut decision {
        sum_tokens(head, events);
    }
    Ok(decision)
}

/// Fills in the tokens through each event.
fn sum_tokens(head: Option<&Head>, events: &mut [Event]) {
    let mut through = head.map_or(0, |head| head.totals.context_tokens);
    for event in events {
        through = through.saturating_add(event.context_tokens());
        event.tokens.through = through;
    }
}

fn decide_facts(head: Option<&Head>, command: &Command) -> Result<Decision, Rejection> {
    if let Action::Create {
        created,
        occurred_at,
    } = &command.action
    {
        return create::decide(head, command, created, *occurred_at);
    }
    let head = head
        .filter(|head| head.agent == command.agent)
        .ok_or(Rejection::NotFound)?;
    if head.status == Status::Erased {
        return erase::decide_erased(&command.action);
    }
    if let Expectation::Exact(expected) = command.expectation
        && expected != head.version
    {
        return Err(Rejection::VersionConflict {
            expected,
            current: head.version,
        });
    }
    match &command.action {
        Action::Create { .. } => Err(Rejection::AlreadyExists),
        Action::Append(events) => append_events::decide(head, command.commit, events),
        Action::Update(updated) => update::decide(head, command.commit, updated),
        Action::Archive => Ok(archive::decide(head, command.commit)),
        Action::Restore => Ok(restore::decide(head, command.commit)),
        Action::Erase { expected, forks } => {
            erase::decide(head, command.commit, expected.as_ref(), *forks)
        }
        Action::ChangeOwner { owner, expected } => {
            change_owner::decide(head, command.commit, owner, expected.as_ref())
        }
        Action::StartRun(start) => start_run::decide(head, command.commit, start),
        Action::StopRun(run) => Ok(stop_run::decide(head, command.commit, *run)),
        Action::FinishRun(finish) => finish_run::decide(head, command.commit, finish),
    }
}

/// The event of a lifecycle fact, the first of its commit.
fn lifecycle_event(commit: CommitId, fact: Lifecycle) -> Event {
    Event {
        id: crate::id::EventId::derived(commit, 0),
        occurred_at: None,
        metadata: None,
        tokens: EventTokens::default(),
        fact: fact.into(),
    }
}

#[cfg(test)]
mod tests;
