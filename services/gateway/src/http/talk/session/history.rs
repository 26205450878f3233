//! A turn by a history that the caller gives, in a session: what is new of it begins a run, whose model reads the history as
//! given.

use domain::Version;
use domain::event::MessageAppended;
use keyed_history::Stored;
use keyed_history::merge::new_turns;
use runtime::http::HttpProblem;
use wire::status::Reason;

use super::given::check_assistant;
use crate::history_rpc::stored::{self, End, History};
use crate::http::idempotency::IdempotencyKey;
use crate::http::owned_chat::{Owned, not_found, of_read};
use crate::http::state::HttpState;
use crate::http::talk::first_try;
use crate::http::talk::roles::AllowedRoles;
use crate::http::talk::settled::settled;
use crate::http::talk::turn::{self, Begun, Turn};
use crate::quotas::account::Via;

/// Most times that a turn is tried while the session changes and nobody speaks in it: a title, a summary.
const ATTEMPTS_MAX: u32 = 4;

/// A history that a caller gives.
pub(super) struct Given {
    /// Oldest first.
    pub(super) messages: Vec<MessageAppended>,
    /// The roles that what is new of it may have.
    pub(super) allowed: AllowedRoles,
    /// How the request came in.
    pub(super) via: Via,
}

/// Records what is new and has a run answer it, exactly behind what was read: of two such turns at once, one goes on. A retry
/// finds the run of the first try.
///
/// # Errors
/// As [`turn::begin`]; 403 `ROLE_NOT_ALLOWED` for what the model never said; 409 `VERSION_CONFLICT` where somebody else has
/// spoken meanwhile.
pub(super) async fn begin(
    state: &HttpState,
    session: Owned,
    given: Given,
    key: IdempotencyKey,
) -> Result<Begun, HttpProblem> {
    let session = &settled(state, session).await?;
    let mut history = read(state, session, &given, None).await?;
    let spoken_at = history.last_message();
    let mut attempts = 1;
    loop {
        let turn = turn_of(history.seen_at(None), &given, history.version, key)?;
        let refused = match turn::begin(state, session, turn).await {
            Ok(begun) => return Ok(begun),
            Err(problem) => problem,
        };
        if refused.code == Reason::IdempotencyKeyReused.as_str() {
            return again(state, session, &given, key, refused).await;
        }
        if refused.code != Reason::VersionConflict.as_str() || attempts == ATTEMPTS_MAX {
            return Err(refused);
        }
        history = read(state, session, &given, None).await?;
        if history.last_message() != spoken_at {
            return Err(refused);
        }
        attempts += 1;
    }
}

/// The same turn once more: what was new to its first try is not new any more, so it is made of what stood there then.
async fn again(
    state: &HttpState,
    session: &Owned,
    given: &Given,
    key: IdempotencyKey,
    refused: HttpProblem,
) -> Result<Begun, HttpProblem> {
    let before = match key.0 {
        Some(key) => first_try::before(state, session, key).await?,
        None => None,
    };
    let Some(before) = before else {
        return Err(refused);
    };
    let history = read(state, session, given, Some(before)).await?;
    let stood_there = Stored {
        since: &[],
        ..history.seen_at(Some(before))
    };
    let turn = turn_of(stood_there, given, before, key)?;
    turn::begin(state, session, turn).await
}

async fn read(
    state: &HttpState,
    session: &Owned,
    given: &Given,
    seen: Option<Version>,
) -> Result<History, HttpProblem> {
    let end = End {
        messages: given.messages.len(),
        seen,
    };
    let history = stored::read(&state.gateway, &session.target, end).await;
    history.map_err(of_read)?.ok_or_else(not_found)
}

fn turn_of(
    stored: Stored<'_>,
    given: &Given,
    version: Version,
    key: IdempotencyKey,
) -> Result<Turn, HttpProblem> {
    let messages = &given.messages;
    let new = new_turns(stored, messages);
    check_assistant(messages, new.iter().copied(), &given.allowed)?;
    let mut turn = Turn::default();
    turn.key = key.0;
    turn.behind = Some(version);
    turn.given = Some(messages.clone());
    turn.via = given.via.clone();
    for place in new {
        if let Some(message) = messages.get(place) {
            turn.append(format!("messages[{place}]"), message.clone());
        }
    }
    Ok(turn)
}
