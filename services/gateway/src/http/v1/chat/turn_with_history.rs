//! A turn in a session with a history that the caller gives. New messages are recorded; the model reads the given
//! history.

use domain::event::MessageAppended;
use domain::{Fact, Version};
use keyed_history::StoredHistory;
use keyed_history::merge::new_turns;
use runtime::http::HttpProblem;
use wire::status::Reason;

use super::turn_messages::check_assistant;
use crate::http::turns::first_attempt;
use crate::http::turns::permissions::AllowedRoles;
use crate::http::turns::turn::{self, StartedTurn, Turn};
use conversations::keyed_histories::stored_history::{self, History, HistoryQuery};
use conversations::open::OwnedChat;
use conversations::quotas::account::RequestSource;
use http_listener::idempotency::IdempotencyKey;
use http_listener::not_found::not_found;
use http_listener::state::HttpState;

/// Maximum number of attempts while the session changes without new messages: a title, a summary.
const ATTEMPTS_MAX: u32 = 4;

/// A history that a caller gives.
pub(super) struct GivenHistory {
    /// Oldest first.
    pub(super) messages: Vec<MessageAppended>,
    /// The roles that new messages may have.
    pub(super) allowed: AllowedRoles,
    /// The key and the address that usage is counted for.
    pub(super) via: RequestSource,
}

/// Records the new messages and starts a run at the version that was read: of two concurrent turns, one succeeds. A
/// retry finds the run of the first attempt.
///
/// # Errors
/// As [`turn::start`]; 403 `ROLE_NOT_ALLOWED` for a message that the model never sent; 409 `VERSION_CONFLICT` if
/// another message was recorded meanwhile.
pub(super) async fn start(
    state: &HttpState,
    session: &OwnedChat,
    given: GivenHistory,
    key: IdempotencyKey,
) -> Result<StartedTurn, HttpProblem> {
    let mut history = read(state, session, &given, None).await?;
    let last_message = history.last_message();
    let mut attempts = 1;
    loop {
        let turn = turn_of(history.seen_at(None), &given, history.position.version, key)?;
        let problem = match turn::start(state, session, turn).await {
            Ok(started) => return Ok(started),
            Err(problem) => problem,
        };
        if problem.reason() == Some(Reason::IdempotencyKeyReused) {
            return retry(state, session, &given, key, problem).await;
        }
        if problem.code != Reason::VersionConflict.as_str() || attempts == ATTEMPTS_MAX {
            return Err(problem);
        }
        history = read(state, session, &given, None).await?;
        if history.last_message() != last_message {
            return Err(problem);
        }
        attempts += 1;
    }
}

/// Repeats the turn of the first attempt. Its messages are not new any more, so they are compared with the history at
/// that time.
async fn retry(
    state: &HttpState,
    session: &OwnedChat,
    given: &GivenHistory,
    key: IdempotencyKey,
    problem: HttpProblem,
) -> Result<StartedTurn, HttpProblem> {
    let before = match key.0 {
        Some(key) => first_attempt::version_before(state, session, key).await?,
        None => None,
    };
    let Some(before) = before else {
        return Err(problem);
    };
    let history = read(state, session, given, Some(before)).await?;
    let stored = StoredHistory { since: &[], ..history.seen_at(Some(before)) };
    let turn = turn_of(stored, given, before, key)?;
    turn::start(state, session, turn).await
}

async fn read(
    state: &HttpState,
    session: &OwnedChat,
    given: &GivenHistory,
    seen: Option<Version>,
) -> Result<History, HttpProblem> {
    let end = HistoryQuery { messages: given.messages.len(), seen };
    let history = stored_history::read(&state.gateway, &session.target, end).await;
    history?.ok_or_else(not_found)
}

fn turn_of(
    stored: StoredHistory<'_>,
    given: &GivenHistory,
    version: Version,
    key: IdempotencyKey,
) -> Result<Turn, HttpProblem> {
    let messages = &given.messages;
    let new = new_turns(stored, messages);
    check_assistant(messages, new.iter().copied(), &given.allowed)?;
    let mut turn = Turn::default();
    turn.key = key.0;
    turn.expected_version = Some(version);
    turn.history = Some(messages.iter().cloned().map(Fact::MessageAppended).collect());
    turn.via = given.via.clone();
    for index in new {
        if let Some(message) = messages.get(index) {
            turn.add_message(format!("messages[{index}]"), message.clone());
        }
    }
    Ok(turn)
}
