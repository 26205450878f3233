//! A conversation of the caller's own.

use axum::http::StatusCode;
use domain::{Conversation, ConversationId, ConversationKey, Owner, UserId};
use event_log::registry::AgentAccess;
use history::{CommitPosition, Deadline, Freshness, Readable, Snapshot, Target};
use runtime::http::HttpProblem;
use wire::proto::write::v1 as write;
use wire::status::{Problem, Reason};

use crate::http::frontend::{Frontend, Named};
use crate::http::state::HttpState;
use crate::http::{positions, problem};
use crate::identity::Caller;

/// A conversation of the caller's, as it stands now.
#[derive(Debug)]
pub struct Owned {
    /// How to read it.
    pub target: Target,
    /// What it is.
    pub conversation: Conversation,
    /// Who acts.
    pub acting: Acting,
}

/// Who acts for a conversation: as much as their request has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acting {
    /// Its owner, by session or by a name without proof.
    Owner,
    /// Its owner, a user whom a token names.
    User(UserId),
    /// An administrator of the tenant; with the owner, where it can only be a user whom a token has named.
    Administrator(Option<UserId>),
}

impl Acting {
    fn of(caller: &Caller) -> Self {
        if let Owner::User(user) = &caller.owner
            && caller.verified
        {
            return Self::User(user.clone());
        }
        Self::Owner
    }

    /// The owner, where a token has named them.
    #[must_use]
    pub fn verified_user(&self) -> Option<&UserId> {
        match self {
            Self::Owner => None,
            Self::User(user) => Some(user),
            Self::Administrator(user) => user.as_ref(),
        }
    }
}

impl Owned {
    /// Where a command goes; `key`: the caller's idempotency key, or empty.
    #[must_use]
    pub fn command_target(&self, key: String) -> write::CommandTarget {
        command_target(&self.target.access, &self.target.key.conversation, key)
    }
}

/// Where a command goes; `key`: the caller's idempotency key, or empty.
#[must_use]
pub fn command_target(
    access: &AgentAccess,
    conversation: &ConversationId,
    key: String,
) -> write::CommandTarget {
    write::CommandTarget {
        agent_id: access.agent.as_str().to_owned(),
        conversation_id: conversation.as_str().to_owned(),
        idempotency_key: key,
        expected_version: None,
    }
}

/// How a caller reads the conversation with this id: what the request gives, has read and has written is held.
///
/// # Errors
/// [`not_found`] where the id is none, or one of a history under a caller's key, which no frontend can own.
pub fn target(state: &HttpState, caller: &Caller, id: &str) -> Result<Target, HttpProblem> {
    let conversation = ConversationId::parse(id).map_err(|_| not_found())?;
    if conversation.is_history() {
        return Err(not_found());
    }
    let key = ConversationKey {
        tenant: caller.access.tenant.tenant().clone(),
        conversation,
    };
    Ok(Target {
        fence: positions::fence_of(&state.gateway, &key),
        key,
        access: caller.access.clone(),
        freshness: Freshness::Fresh,
        deadline: Deadline::until(None),
    })
}

/// What a caller can do with a conversation, by its own head and what it goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is theirs.
    Readable,
    /// It is theirs, and cannot be read any more: something that it goes on from was erased.
    Severed,
    /// It is not theirs, or there is none.
    NotTheirs,
}

/// How a conversation stands to a caller, read fresh.
///
/// # Errors
/// What keeps it from being read.
pub async fn standing(
    state: &HttpState,
    caller: &Caller,
    target: &Target,
) -> Result<Standing, HttpProblem> {
    let readable = Readable::read(&state.gateway.reader, target).await;
    let is_theirs = |owner: &Option<Owner>| owner.as_ref() == Some(&caller.owner);
    Ok(match readable.map_err(problem::of)? {
        Readable::Yes(owner) if is_theirs(&owner) => Standing::Readable,
        Readable::Severed(owner) if is_theirs(&owner) => Standing::Severed,
        Readable::Yes(_) | Readable::Severed(_) | Readable::No => Standing::NotTheirs,
    })
}

/// Whether the writer refused a command because the conversation is not, or no longer, the expected owner's.
#[must_use]
pub fn is_others(problem: &HttpProblem) -> bool {
    [
        Reason::OwnerMismatch,
        Reason::ConversationNotFound,
        Reason::ConversationErased,
    ]
    .iter()
    .any(|reason| reason.as_str() == problem.code)
}

/// The conversation with this id. Who it belongs to may have changed a moment ago: before it is refused as somebody else's,
/// the stream's leader is asked.
///
/// # Errors
/// [`not_found`] alike where there is none, where it is another tenant's, agent's or owner's, where it was erased, and
/// where the id is none; else what keeps it from being read.
pub async fn owned(state: &HttpState, caller: &Caller, id: &str) -> Result<Owned, HttpProblem> {
    match of_caller(state, caller, target(state, caller, id)?).await? {
        Some(owned) => Ok(owned),
        None => owned_latest(state, caller, id).await,
    }
}

/// The same, as the stream's leader knows it: for what decides on a write.
///
/// # Errors
/// As [`owned`].
pub async fn owned_latest(
    state: &HttpState,
    caller: &Caller,
    id: &str,
) -> Result<Owned, HttpProblem> {
    let target = Target {
        freshness: Freshness::Leader,
        ..target(state, caller, id)?
    };
    let owned = of_caller(state, caller, target).await?;
    owned.ok_or_else(not_found)
}

/// The conversation of a target; `None`: it is somebody else's. Later reads of it hold what this one has read.
async fn of_caller(
    state: &HttpState,
    caller: &Caller,
    target: Target,
) -> Result<Option<Owned>, HttpProblem> {
    let (conversation, position) = conversation(state, &target).await?;
    if conversation.head.owner.as_ref() != Some(&caller.owner) {
        return Ok(None);
    }
    positions::read(&state.gateway, &target.key, position);
    Ok(Some(Owned {
        target: Target {
            fence: positions::fence_of(&state.gateway, &target.key),
            ..target
        },
        conversation,
        acting: Acting::of(caller),
    }))
}

/// A conversation as it is now, and its position.
///
/// # Errors
/// As [`of_read`].
pub async fn conversation(
    state: &HttpState,
    target: &Target,
) -> Result<(Conversation, CommitPosition), HttpProblem> {
    let snapshot = Snapshot::open(&state.gateway.reader, target).await;
    let snapshot = snapshot.map_err(of_read)?;
    let position = snapshot.position();
    let conversation = snapshot.into_conversation().await;
    Ok((conversation.map_err(of_read)?, position))
}

/// The conversation with this id of whoever headers and query name, as the stream's leader knows it.
///
/// # Errors
/// As [`Frontend::caller`] and [`owned_latest`].
pub async fn asked(state: &HttpState, frontend: &Frontend, id: &str) -> Result<Owned, HttpProblem> {
    let caller = frontend.caller(state, Named::default()).await?;
    owned_latest(state, &caller, id).await
}

/// What a read of a conversation fails with; one that is not there is told as [`not_found`].
#[must_use]
pub fn of_read(error: Problem) -> HttpProblem {
    if error.reason() == Reason::ConversationNotFound {
        return not_found();
    }
    problem::of(error)
}

/// There is no such conversation for this caller; nothing tells why.
#[must_use]
pub fn not_found() -> HttpProblem {
    let detail = "no such conversation for this caller: check its id, and whose it is";
    let code = Reason::ConversationNotFound.as_str();
    HttpProblem::new(StatusCode::NOT_FOUND, code, detail)
}
