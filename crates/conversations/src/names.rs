//! Names of conversations that frontends choose.
//!
//! A name belongs to its owner. The record's id of the conversation is derived from the agent, the owner and the name, with a key of the
//! tenant, so two owners may choose the same name and never notice, and no name is the id of a conversation that a back end creates.
//!
//! A frontend's id in a request is the record's id of a conversation that the caller owns, or else a name of the caller's. Names stay with
//! their conversations: after a session was claimed, the user finds them by the same names.

use domain::{AgentId, ConversationId, ConversationKey, Head, Owner, Position, Violation, ViolationReason};
use futures::future::try_join_all;
use history::{CommitPosition, Deadline};
use read_model::queries;
use registry::{AgentAccess, KeyPurpose, TenantKey};
use ring::hmac;
use wire::status::{Problem, Reason};

use crate::problem::{self, RETRY_AFTER, not_found};
use crate::{Conversations, positions};

/// The most characters of a name.
pub const NAME_CHARS_MAX: usize = 100;

/// The first part of the input for a tag.
const SCHEME: &str = "hansard.conversation-names.v1";

/// The names of an owner's conversations with an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// What the record's ids end with.
    tag: String,
}

impl Names {
    fn of(key: &[u8], agent: &AgentId, owner: &Owner) -> Self {
        let (kind, owner) = match owner {
            Owner::User(user) => ("user", user.as_str()),
            Owner::Session(session) => ("session", session.as_str()),
            Owner::Channel(channel) => ("channel", channel.as_str()),
        };
        // None of them contains a zero byte.
        let input = [SCHEME, agent.as_str(), kind, owner].join("\0");
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), input.as_bytes());
        Self { tag: hex::encode(tag).chars().take(ConversationId::NAME_TAG_CHARS).collect() }
    }

    /// The record's id of the conversation with a name.
    ///
    /// # Errors
    /// The name is not 1 to [`NAME_CHARS_MAX`] characters that ids may have, or begins with a reserved prefix.
    pub fn id(&self, name: &str) -> Result<ConversationId, Violation> {
        let id = ConversationId::parse(name)?;
        if is_reserved(&id) || id.is_named() {
            let rule = "begins with `history:`, `document:` or `named:`, which are reserved: choose another id";
            return Err(Violation::new(ViolationReason::Reserved, rule));
        }
        if name.len() > NAME_CHARS_MAX {
            let rule = format!("has {} characters: at most {NAME_CHARS_MAX}", name.len());
            return Err(Violation::new(ViolationReason::TooLong, rule));
        }
        ConversationId::parse(ConversationId::named_start(name) + &self.tag)
    }

    /// The id that the owner reads: the name of a conversation that the owner has named, else the record's id.
    #[must_use]
    pub fn shown<'a>(&self, id: &'a str) -> &'a str {
        let named = id.strip_prefix(ConversationId::NAMED_PREFIX).and_then(|rest| rest.strip_suffix(&self.tag));
        named.and_then(|name| name.strip_suffix(':')).unwrap_or(id)
    }
}

/// The names of an owner.
///
/// # Errors
/// A tenant of an earlier version has no key until a writer has created its secret.
pub fn names(conversations: &Conversations, access: &AgentAccess, owner: &Owner) -> Result<Names, Problem> {
    Ok(Names::of(tenant_key(conversations, access)?.as_bytes(), &access.agent, owner))
}

/// The tenant's key for ids that are derived from the names of its callers.
///
/// # Errors
/// As [`names`].
pub fn tenant_key(conversations: &Conversations, access: &AgentAccess) -> Result<TenantKey, Problem> {
    let key = conversations.gateway.registry.tenant_key(access.tenant.tenant(), KeyPurpose::Channel);
    key.ok_or_else(|| {
        let message = "the gateway does not know the tenant's key yet: try again";
        Problem::new(Reason::RecordUnavailable, message).retry_after(RETRY_AFTER)
    })
}

/// Where the last commit of a conversation is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFrom {
    /// Any replica, which may lag.
    Replica,
    /// The stream's leader.
    Leader,
}

/// The conversation of an owner that an id of a request means; `None`: the owner has none. Later reads of the request include its last
/// commit. The conversations of others change neither the answer nor the reads that it takes.
///
/// # Errors
/// [`not_found`] for an id that no frontend can use; a service does not answer.
pub async fn find(
    conversations: &Conversations,
    access: &AgentAccess,
    owner: &Owner,
    id: &str,
    from: ReadFrom,
) -> Result<Option<ConversationKey>, Problem> {
    let found = find_owned(conversations, access, candidates(conversations, access, owner, id)?, owner, from).await?;
    if found.is_some() || from == ReadFrom::Replica {
        return Ok(found);
    }
    find_owned(conversations, access, claimed(conversations, access, owner, id).await?, owner, from).await
}

/// What an id of a request may be the record's id of, by itself and as a name of the owner.
///
/// # Errors
/// As [`find`].
pub fn candidates(
    conversations: &Conversations,
    access: &AgentAccess,
    owner: &Owner,
    id: &str,
) -> Result<Vec<ConversationKey>, Problem> {
    let recorded = ConversationId::parse(id).map_err(|_| not_found())?;
    if is_reserved(&recorded) {
        return Err(not_found());
    }
    // Ids of earlier versions can be too long for a name.
    let named = names(conversations, access, owner)?.id(id).ok();
    Ok([Some(recorded), named].into_iter().flatten().map(|id| key(access, id)).collect())
}

/// The first of these conversations that has this owner.
///
/// # Errors
/// A service does not answer.
pub async fn find_owned(
    conversations: &Conversations,
    access: &AgentAccess,
    candidates: Vec<ConversationKey>,
    owner: &Owner,
    from: ReadFrom,
) -> Result<Option<ConversationKey>, Problem> {
    let heads = candidates.iter().map(|key| read_head(conversations, key, from, Deadline::until(None)));
    let heads = try_join_all(heads).await?;
    let mut found = candidates.into_iter().zip(heads).filter_map(|(key, head)| Some((key, head?)));
    let found = found.find(|(_, (head, _))| head.owner.as_ref() == Some(owner) && head.agent == access.agent);
    let Some((key, (head, position))) = found else {
        return Ok(None);
    };
    let position = CommitPosition { version: head.version, sequence: position.sequence };
    positions::record_read(&conversations.gateway, &key, position).await?;
    Ok(Some(key))
}

/// As [`find`], from the stream's leader. Without a conversation, the key of the one that the owner would create by this id.
///
/// # Errors
/// As [`find`]; the id is too long for a name.
pub async fn find_or_new(
    conversations: &Conversations,
    access: &AgentAccess,
    owner: &Owner,
    id: &str,
) -> Result<ConversationKey, Problem> {
    let named = names(conversations, access, owner)?.id(id);
    if ConversationId::parse(id).is_ok_and(|id| !is_reserved(&id))
        && let Some(found) = find(conversations, access, owner, id, ReadFrom::Leader).await?
    {
        return Ok(found);
    }
    Ok(key(access, named.map_err(|violation| violation.within("id"))?))
}

/// Whether no frontend can own a conversation with this id.
fn is_reserved(id: &ConversationId) -> bool {
    id.is_history() || id.is_document()
}

fn key(access: &AgentAccess, conversation: ConversationId) -> ConversationKey {
    ConversationKey { tenant: access.tenant.tenant().clone(), conversation }
}

/// The last head of a conversation, also of an erased one, and the position of its commit; `None`: it was never created.
///
/// # Errors
/// The record does not answer, or the commit is corrupt.
pub async fn read_head(
    conversations: &Conversations,
    key: &ConversationKey,
    from: ReadFrom,
    deadline: Deadline,
) -> Result<Option<(Head, Position)>, Problem> {
    let archive = &conversations.gateway.reader.archive;
    let last = match from {
        ReadFrom::Leader => deadline.record(archive.last_commit(key)).await,
        ReadFrom::Replica => deadline.record(archive.last_of_replica(key)).await,
    };
    let Some(last) = last? else {
        return Ok(None);
    };
    let head = last.open_head().map_err(|corrupt| problem::of_corrupt(&corrupt))?;
    Ok(Some((head, last.position)))
}

/// The conversations with this name that the owner has claimed, by the rows. A claim waits for them.
async fn claimed(
    conversations: &Conversations,
    access: &AgentAccess,
    owner: &Owner,
    name: &str,
) -> Result<Vec<ConversationKey>, Problem> {
    let Owner::User(user) = owner else {
        return Ok(Vec::new());
    };
    let rows = &conversations.gateway.reader.read_model;
    let found =
        Deadline::until(None).rows(queries::named_conversations(rows, &access.tenant, &access.agent, user, name)).await;
    Ok(found?.into_iter().map(|id| key(access, id)).collect())
}

#[cfg(test)]
mod tests {
    use domain::{ChannelId, SessionId, UserId};

    use super::*;

    fn names_of(key: u8, agent: &str, owner: &Owner) -> Names {
        Names::of(&[key; 32], &AgentId::parse(agent).unwrap(), owner)
    }

    #[test]
    fn each_owner_has_its_own_names() {
        let user = |id: &str| Owner::User(UserId::parse(id).unwrap());
        let session = Owner::Session(SessionId::parse("ada").unwrap());
        let channel = Owner::Channel(ChannelId::parse("a".repeat(64)).unwrap());
        let ada = names_of(1, "support", &user("ada"));
        let others = [
            names_of(1, "support", &user("ben")),
            names_of(1, "support", &session),
            names_of(1, "support", &channel),
            names_of(1, "sales", &user("ada")),
            names_of(2, "support", &user("ada")),
        ];
        let id = ada.id("order-7").unwrap();
        assert!(id.is_named());
        assert_eq!(ada, names_of(1, "support", &user("ada")));
        assert_eq!(ada.shown(id.as_str()), "order-7");
        for other in &others {
            assert_ne!(other.id("order-7").unwrap(), id);
            assert_eq!(other.shown(id.as_str()), id.as_str());
        }
        assert_eq!(ada.shown("order-7"), "order-7");
    }

    #[test]
    fn names_have_a_bound() {
        let names = names_of(1, "support", &Owner::User(UserId::parse("ada").unwrap()));
        let check = |name: &str, expected: Option<ViolationReason>| {
            assert_eq!(names.id(name).err().map(|violation| violation.reason), expected, "{name}");
        };
        assert_eq!(NAME_CHARS_MAX, 100);
        check(&"n".repeat(100), None);
        check(&"n".repeat(101), Some(ViolationReason::TooLong));
        check("", Some(ViolationReason::Missing));
        check("a b", Some(ViolationReason::Malformed));
        check("a:b", None);
        check("names:x", None);
        for reserved in ["named:x:0123456789abcdef0123", "named:", "history:x", "document:x"] {
            check(reserved, Some(ViolationReason::Reserved));
        }
    }
}
