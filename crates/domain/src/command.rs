//! Commands, and the decisions about them: pure functions from a head and a command to events. One file per command.

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
pub use create::Create;
pub use erase::ForkRule;
pub use finish_run::FinishRun;
pub use fork::{ForkSource, fork_source};
pub use start_run::StartRun;

use crate::event::{ConversationUpdated, Event, EventTokens, Lifecycle};
use crate::head::{Head, Status};
use crate::id::{AgentId, CallId, CommitId, RunId};
use crate::owner::Owner;
use crate::position::Version;

/// A request to change a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The id of the commit that it produces.
    pub commit: CommitId,
    /// The agent of the caller. A conversation of another agent is treated as missing.
    pub agent: AgentId,
    /// The version that the caller expects.
    pub expectation: Expectation,
    /// The requested change.
    pub action: Action,
}

/// The version of a conversation that a caller expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// Any version: append to the current one.
    Any,
    /// This version: any other one is a conflict.
    Exact(Version),
}

/// A change of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Create the conversation.
    Create(Box<Create>),
    /// Append events.
    Append {
        /// The events.
        events: Vec<NewEvent>,
        /// The owner that it must have; `None`: any.
        expected: Option<Owner>,
    },
    /// Change title, metadata or provider ids.
    Update(Box<ConversationUpdated>),
    /// Close it for events.
    Archive,
    /// Open it again.
    Restore,
    /// Erase it.
    Erase {
        /// The owner that it must have; `None`: any.
        expected: Option<Owner>,
        /// What happens to forks that read through it.
        forks: ForkRule,
    },
    /// Change its owner.
    ChangeOwner {
        /// The new owner.
        owner: Owner,
        /// The owner that it must have; `None`: any.
        expected: Option<Owner>,
    },
    /// Start a run.
    StartRun(Box<StartRun>),
    /// Request that a run stops.
    StopRun(RunId),
    /// Finish a run.
    FinishRun(Box<FinishRun>),
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Append these events as one commit.
    Commit(Vec<Event>),
    /// Nothing: the conversation already is as requested.
    Unchanged,
}

/// Why a command is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Rejection {
    /// The caller's agent has no such conversation.
    #[error("no such conversation")]
    NotFound,
    /// A conversation with this id exists.
    #[error("a conversation with this id exists already")]
    AlreadyExists,
    /// The conversation has another version than expected.
    #[error("the conversation is at version {current}, not at {expected}")]
    VersionConflict {
        /// The version that the caller expected.
        expected: Version,
        /// The version of the conversation.
        current: Version,
    },
    /// The conversation is archived.
    #[error("the conversation is archived: restore it first")]
    Archived,
    /// The conversation is erased.
    #[error("the conversation is erased: create a new one")]
    Erased,
    /// A result for a call that is not open: it does not exist, or it has a result.
    #[error("events[{index}]: no open call has this id: the call does not exist, or it has a result")]
    CallNotOpen {
        /// The index of the event in the command.
        index: usize,
        /// The call.
        call_id: CallId,
    },
    /// A call with the id of an open call.
    #[error("events[{index}]: an open call has this id: append its result first")]
    CallAlreadyOpen {
        /// The index of the event in the command.
        index: usize,
        /// The call.
        call_id: CallId,
    },
    /// A result with another tool name than its call.
    #[error("events[{index}]: the call with this id has another tool name")]
    ToolMismatch {
        /// The index of the event in the command.
        index: usize,
        /// The call.
        call_id: CallId,
    },
    /// Another run is active.
    #[error("run {run} is active in the conversation: wait for its end, or stop it")]
    RunActive {
        /// The active run.
        run: RunId,
    },
    /// The run is not the active one.
    #[error("the run is not the active run of the conversation: it finished, or it never started")]
    RunNotActive,
    /// A stop of the run was requested.
    #[error("a stop of the run was requested: only its end is accepted")]
    RunStopping,
    /// It has another owner than expected.
    #[error("the conversation has another owner than `expected_owner`")]
    OwnerMismatch,
    /// It is a document, or the owner is a channel, or becomes one: neither is possible.
    #[error(
        "the owner of a document or of a channel's conversation cannot change, and a channel cannot become the owner of another one"
    )]
    OwnerFixed,
    /// The conversation to fork from is missing.
    #[error("the agent has no such conversation, or it does not have that version")]
    ForkPointMissing,
    /// The fork would have too many ancestors.
    #[error("the conversation has {depth_max} ancestors, which is the maximum: it cannot be forked")]
    ForkTooDeep {
        /// The bound.
        depth_max: u32,
    },
    /// Too many open calls.
    #[error("events[{index}]: {open_max} calls are open, which is the maximum: append results first")]
    TooManyOpenCalls {
        /// The index of the event in the command.
        index: usize,
        /// The bound.
        open_max: usize,
    },
    /// A summary of versions that do not exist.
    #[error("events[{index}]: summarises through version {through}, but the event before it has version {last}")]
    SummaryBeyondHistory {
        /// The index of the event in the command.
        index: usize,
        /// The last version that it covers.
        through: Version,
        /// The version of the event before it.
        last: Version,
    },
    /// A rewind to a version that does not exist.
    #[error("events[{index}]: rewinds to version {to}, but the event before it has version {last}")]
    RewindBeyondHistory {
        /// The index of the event in the command.
        index: usize,
        /// The version to which it returns.
        to: Version,
        /// The version of the event before it.
        last: Version,
    },
    /// A summary that covers no more than an earlier one.
    #[error("events[{index}]: a summary through version {reached} exists: cover a later version")]
    SummaryStale {
        /// The index of the event in the command.
        index: usize,
        /// The last version that the earlier one covers.
        reached: Version,
    },
}

/// Decides the result of a command for a conversation with this head; `None`: the conversation does not exist.
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
    if let Action::Create(create) = &command.action {
        return create::decide(head, command, create);
    }
    let head = head.filter(|head| head.agent == command.agent).ok_or(Rejection::NotFound)?;
    if head.status == Status::Erased {
        return erase::decide_erased(&command.action);
    }
    if let Expectation::Exact(expected) = command.expectation
        && expected != head.version
    {
        return Err(Rejection::VersionConflict { expected, current: head.version });
    }
    match &command.action {
        Action::Create(_) => Err(Rejection::AlreadyExists),
        Action::Append { events, expected } => append_events::decide(head, command.commit, events, expected.as_ref()),
        Action::Update(updated) => update::decide(head, command.commit, updated),
        Action::Archive => Ok(archive::decide(head, command.commit)),
        Action::Restore => Ok(restore::decide(head, command.commit)),
        Action::Erase { expected, forks } => erase::decide(head, command.commit, expected.as_ref(), *forks),
        Action::ChangeOwner { owner, expected } => change_owner::decide(head, command.commit, owner, expected.as_ref()),
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
