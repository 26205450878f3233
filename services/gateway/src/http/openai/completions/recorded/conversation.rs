//! Finds the conversation of a completion. A missing one is created by the commit that starts the run.
//!
//! A client names a conversation by its id, or by an id of its own chat. A conversation with this id is used if it belongs to the
//! caller's agent and end user. Otherwise a missing one and a foreign one get the same: a conversation of the agent and the end user
//! whose id is derived from the client's. So nobody can read, extend or detect the conversation of another by its id. The derivation
//! is keyed, so that nobody can create the conversation of another before.

use domain::{AgentId, ConversationId, ConversationKey, Head, Owner, UserId};
use openai_api::conversation_ids::{OwnedId, record_id};
use registry::{AgentAccess, TenantKey};
use ring::hmac;
use runtime::http::HttpProblem;
use uuid::{Builder, Uuid};

use super::client_headers::Recording;
use crate::http::openai::caller::OpenAiCaller;
use conversations::end_user::IdOrigin;
use conversations::names::{ReadFrom, tenant_key};
use conversations::open::head_from_leader;
use http_listener::not_found::not_found;
use http_listener::state::HttpState;
use wire::status::Reason;

/// The first part of the input for a derived id.
const SCHEME: &str = "hansard.openai.chat.v1";
/// Bytes of a derived id.
const ID_BYTES: usize = 16;

/// The conversation of a completion.
#[derive(Debug)]
pub(super) struct FoundConversation {
    /// The conversation.
    pub(super) key: ConversationKey,
    /// Its state.
    pub(super) state: FoundState,
}

/// The state of a found conversation.
#[derive(Debug)]
pub(super) enum FoundState {
    /// It exists. The head is from the leader.
    Exists(Box<Head>),
    /// It is missing. This is its owner.
    New(Owner),
}

/// The conversation of a recording.
///
/// # Errors
/// A service does not answer.
pub(super) async fn find_or_new(
    state: &HttpState,
    caller: &OpenAiCaller,
    access: &AgentAccess,
    recording: &Recording,
) -> Result<FoundConversation, HttpProblem> {
    let (agent, user) = (&access.agent, caller.end_user.user());
    let new = match recording {
        Recording::None | Recording::New => OwnedId::of(agent, user, Uuid::now_v7())?,
        Recording::In(id) => {
            let named = match (record_id(id).ok(), caller.end_user.owner()) {
                (Some(id), Some(owner)) if !id.is_history() => {
                    let found =
                        conversations::names::find(state, access, &owner, id.as_str(), ReadFrom::Leader).await?;
                    found.or_else(|| Some(key(access, id)))
                }
                (id, _) => id.map(|id| key(access, id)),
            };
            let id = derived_id(&tenant_key(state, access)?, agent, user, id);
            let new = OwnedId::of(agent, user, id)?;
            let derived = Some(key(access, new.id.clone()));
            let found = tokio::try_join!(find(state, caller, agent, named), find(state, caller, agent, derived));
            let (named, derived) = found?;
            if let Some((key, head)) = named.or(derived) {
                let state = FoundState::Exists(Box::new(head));
                return Ok(FoundConversation { key, state });
            }
            new
        }
    };
    Ok(FoundConversation { key: key(access, new.id), state: FoundState::New(new.owner) })
}

/// The head of a conversation that a concurrent request of the same chat has created.
///
/// # Errors
/// [`not_found`] if the conversation was erased; a service does not answer.
pub(super) async fn created_by_another(
    state: &HttpState,
    caller: &OpenAiCaller,
    agent: &AgentId,
    key: &ConversationKey,
) -> Result<Head, HttpProblem> {
    let found = find(state, caller, agent, Some(key.clone())).await?;
    found.map(|(_, head)| head).ok_or_else(not_found)
}

fn key(access: &AgentAccess, conversation: ConversationId) -> ConversationKey {
    ConversationKey { tenant: access.tenant.tenant().clone(), conversation }
}

/// The conversation, if it exists and is the caller's.
async fn find(
    state: &HttpState,
    caller: &OpenAiCaller,
    agent: &AgentId,
    key: Option<ConversationKey>,
) -> Result<Option<(ConversationKey, Head)>, HttpProblem> {
    let Some(key) = key else {
        return Ok(None);
    };
    let head = match head_from_leader(state, &key, caller.service.call.deadline).await {
        Err(problem) if problem.reason() == Reason::ConversationNotFound => return Ok(None),
        found => found?.0,
    };
    if head.agent != *agent {
        return Ok(None);
    }
    match caller.end_user.check_owner(IdOrigin::of(&key.conversation), head.owner.as_ref()) {
        Ok(()) => Ok(Some((key, head))),
        Err(problem) if problem.reason() == Reason::ConversationNotFound => Ok(None),
        Err(problem) => Err(problem.into()),
    }
}

/// The id of the conversation of a client's chat: the same in every request of the agent and the end user.
fn derived_id(key: &TenantKey, agent: &AgentId, user: Option<&UserId>, chat: &str) -> Uuid {
    let user = user.map_or_else(|| "none".to_owned(), |user| format!("user:{user}"));
    // None of them contains a zero byte.
    let input = [SCHEME, agent.as_str(), &user, chat].join("\0");
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
    let tag = hmac::sign(&key, input.as_bytes());
    let mut bytes = [0; ID_BYTES];
    for (byte, tag) in bytes.iter_mut().zip(tag.as_ref()) {
        *byte = *tag;
    }
    Builder::from_custom_bytes(bytes).into_uuid()
}
