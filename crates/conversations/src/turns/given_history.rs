//! A turn in a session with a history that the caller gives. New messages are recorded; the model reads the given
//! history.

use domain::event::MessageAppended;
use domain::{CommitId, Fact, Version};
use keyed_history::StoredHistory;
use keyed_history::merge::new_turns;
use wire::status::{Problem, Reason};

use super::first_attempt;
use super::permissions::{AllowedRoles, check_roles};
use super::start_turn::{StartedTurn, start_turn};
use super::turn::Turn;
use crate::Conversations;
use crate::keyed_histories::stored_history::{self, History, HistoryQuery};
use crate::open::OwnedChat;
use crate::problem::not_found;
use crate::quotas::account::RequestSource;

/// Maximum number of attempts while the session changes without new messages: a title, a summary.
const ATTEMPTS_MAX: u32 = 4;

/// A history that a caller gives.
pub struct GivenHistory {
    /// Oldest first.
    pub messages: Vec<MessageAppended>,
    /// The roles that new messages may have.
    pub allowed: AllowedRoles,
    /// The key and the address that usage is counted for.
    pub via: RequestSource,
    /// Identifies the turn in all of its retries.
    pub key: Option<CommitId>,
}

/// Records the new messages and starts a run at the version that was read: of two concurrent turns, one succeeds. A
/// retry finds the run of the first attempt.
///
/// # Errors
/// As [`start_turn`]; `ROLE_NOT_ALLOWED` for a message that the model never sent; `VERSION_CONFLICT` if
/// another message was recorded meanwhile.
pub async fn start(
    conversations: &Conversations,
    session: &OwnedChat,
    given: GivenHistory,
) -> Result<StartedTurn, Problem> {
    let mut history = read(conversations, session, &given, None).await?;
    let last_message = history.last_message();
    let mut attempts = 1;
    loop {
        let turn = turn_of(history.seen_at(None), &given, history.position.version)?;
        let problem = match start_turn(conversations, session, turn).await {
            Ok(started) => return Ok(started),
            Err(problem) => problem,
        };
        if problem.reason() == Reason::IdempotencyKeyReused {
            return retry(conversations, session, &given, problem).await;
        }
        if problem.reason() != Reason::VersionConflict || attempts == ATTEMPTS_MAX {
            return Err(problem);
        }
        history = read(conversations, session, &given, None).await?;
        if history.last_message() != last_message {
            return Err(problem);
        }
        attempts += 1;
    }
}

/// Repeats the turn of the first attempt. Its messages are not new any more, so they are compared with the history at
/// that time.
async fn retry(
    conversations: &Conversations,
    session: &OwnedChat,
    given: &GivenHistory,
    problem: Problem,
) -> Result<StartedTurn, Problem> {
    let before = match given.key {
        Some(key) => first_attempt::version_before(conversations, session, key).await?,
        None => None,
    };
    let Some(before) = before else {
        return Err(problem);
    };
    let history = read(conversations, session, given, Some(before)).await?;
    let stored = StoredHistory { since: &[], ..history.seen_at(Some(before)) };
    let turn = turn_of(stored, given, before)?;
    start_turn(conversations, session, turn).await
}

async fn read(
    conversations: &Conversations,
    session: &OwnedChat,
    given: &GivenHistory,
    seen: Option<Version>,
) -> Result<History, Problem> {
    let end = HistoryQuery { messages: given.messages.len(), seen };
    let history = stored_history::read(&conversations.gateway, &session.target, end).await;
    history?.ok_or_else(not_found)
}

fn turn_of(stored: StoredHistory<'_>, given: &GivenHistory, version: Version) -> Result<Turn, Problem> {
    let messages = &given.messages;
    let new = new_turns(stored, messages);
    check_roles(messages, new.iter().copied(), &given.allowed)?;
    let mut turn = Turn {
        key: given.key,
        expected_version: Some(version),
        history: Some(messages.iter().cloned().map(Fact::MessageAppended).collect()),
        via: given.via.clone(),
        ..Turn::default()
    };
    for index in new {
        if let Some(message) = messages.get(index) {
            turn.add_message(format!("messages[{index}]"), message.clone());
        }
    }
    Ok(turn)
}
