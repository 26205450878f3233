//! The caller's conversations.

use domain::{CommitId, Conversation, ConversationKey, Head, Owner, Position, Status, UserId};
use history::{CommitPosition, Deadline, Freshness, Snapshot, Target};
use wire::proto::write::v1 as write;
use wire::status::{Problem, Reason};

use crate::commands::command_target;
use crate::identity::Caller;
use crate::names::{ReadFrom, find, read_head};
use crate::problem::not_found;
use crate::{Conversations, positions};

/// A conversation of the caller, in its current state.
#[derive(Debug)]
pub struct OwnedChat {
    /// How to read it.
    pub target: Target,
    /// The conversation.
    pub conversation: Conversation,
    /// What the caller has proven.
    pub authority: Authority,
}

/// What a request has proven about its caller's right to a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authority {
    /// The owner, by session or by an unverified name.
    Owner,
    /// The owner, a user with a verified token.
    User(UserId),
    /// An administrator of the tenant. The user is the owner, if the agent identifies users by token only.
    Administrator(Option<UserId>),
}

impl Authority {
    fn of(caller: &Caller) -> Self {
        if let Owner::User(user) = &caller.owner
            && caller.verified
        {
            return Self::User(user.clone());
        }
        Self::Owner
    }

    /// The owner, if a token names them.
    #[must_use]
    pub fn verified_user(&self) -> Option<&UserId> {
        match self {
            Self::Owner => None,
            Self::User(user) => Some(user),
            Self::Administrator(user) => user.as_ref(),
        }
    }
}

impl OwnedChat {
    /// The target of a command, with the caller's idempotency key.
    #[must_use]
    pub fn command_target(&self, key: Option<CommitId>) -> write::CommandTarget {
        command_target(&self.target.access.agent, &self.target.key.conversation, key)
    }
}

/// How to read a conversation of the caller. The read includes what the request has sent, read and written.
///
/// # Errors
/// A position that the request has sent is invalid.
pub async fn read_target(
    conversations: &Conversations,
    caller: &Caller,
    key: ConversationKey,
) -> Result<Target, Problem> {
    Ok(Target {
        fence: positions::fence(&conversations.gateway, &key).await?,
        key,
        access: caller.access.clone(),
        freshness: Freshness::Fresh,
        deadline: Deadline::until(None),
    })
}

/// Whether the writer rejected a command because the expected owner does not own the conversation, or no longer does.
#[must_use]
pub fn is_not_owned(reason: Reason) -> bool {
    matches!(reason, Reason::OwnerMismatch | Reason::ConversationNotFound | Reason::ConversationErased)
}

/// The caller's conversation that this id means. It may have been created a moment ago, and the owner may have changed: before a
/// conversation is rejected, its last commit is read from the stream's leader.
///
/// # Errors
/// [`not_found`] if it does not exist, if it has another tenant, agent or owner, if it was erased, and if the id is
/// invalid; or the conversation cannot be read.
pub async fn find_chat(conversations: &Conversations, caller: &Caller, id: &str) -> Result<OwnedChat, Problem> {
    let found = find(conversations, &caller.access, &caller.owner, id, ReadFrom::Replica).await?;
    if let Some(key) = found
        && let Some(owned) = read_owned(conversations, caller, read_target(conversations, caller, key).await?).await?
    {
        return Ok(owned);
    }
    find_latest_chat(conversations, caller, id).await
}

/// The caller's conversation, read from the stream's leader: for decisions about writes.
///
/// # Errors
/// As [`find_chat`].
pub async fn find_latest_chat(conversations: &Conversations, caller: &Caller, id: &str) -> Result<OwnedChat, Problem> {
    let found = find(conversations, &caller.access, &caller.owner, id, ReadFrom::Leader).await?;
    let key = found.ok_or_else(not_found)?;
    let target = Target { freshness: Freshness::Leader, ..read_target(conversations, caller, key).await? };
    let owned = read_owned(conversations, caller, target).await?;
    owned.ok_or_else(not_found)
}

/// The conversation of a target; `None`: the caller does not own it. Later reads of the request include this one.
async fn read_owned(
    conversations: &Conversations,
    caller: &Caller,
    target: Target,
) -> Result<Option<OwnedChat>, Problem> {
    let (conversation, position) = read_conversation(conversations, &target).await?;
    if conversation.head.owner.as_ref() != Some(&caller.owner) {
        return Ok(None);
    }
    positions::record_read(&conversations.gateway, &target.key, position).await?;
    Ok(Some(OwnedChat {
        target: Target { fence: positions::fence(&conversations.gateway, &target.key).await?, ..target },
        conversation,
        authority: Authority::of(caller),
    }))
}

/// A conversation in its current state, and its position.
///
/// # Errors
/// [`not_found`]: the conversation does not exist; or the record or the rows do not answer.
pub async fn read_conversation(
    conversations: &Conversations,
    target: &Target,
) -> Result<(Conversation, CommitPosition), Problem> {
    let snapshot = Snapshot::open(&conversations.gateway.reader, target).await?;
    let position = snapshot.position();
    let conversation = snapshot.into_conversation().await;
    Ok((conversation?, position))
}

/// A conversation in its current state, and how to read it again: later reads include this one.
///
/// # Errors
/// [`not_found`]: the conversation does not exist; or the record or the rows do not answer.
pub async fn read_fenced(conversations: &Conversations, target: Target) -> Result<(Target, Conversation), Problem> {
    let (conversation, position) = read_conversation(conversations, &target).await?;
    positions::record_read(&conversations.gateway, &target.key, position).await?;
    let fence = positions::fence(&conversations.gateway, &target.key).await?;
    Ok((Target { fence, ..target }, conversation))
}

/// The head of a conversation and the position of its last commit, read from the stream's leader. Later reads of the request
/// include the commit.
///
/// # Errors
/// [`not_found`] if there is no such conversation, or it was erased; or the record does not answer.
pub async fn head_from_leader(
    conversations: &Conversations,
    key: &ConversationKey,
    deadline: Deadline,
) -> Result<(Head, Position), Problem> {
    let last = read_head(conversations, key, ReadFrom::Leader, deadline).await?;
    let (head, last) = last.ok_or_else(not_found)?;
    if head.status == Status::Erased {
        return Err(not_found());
    }
    let position = CommitPosition { version: head.version, sequence: last.sequence };
    positions::record_read(&conversations.gateway, key, position).await?;
    Ok((head, last))
}

/// The head that a turn starts from: `head`, or a later one after an active run is finished whose parts have ended. The caller has
/// checked access by the head.
///
/// # Errors
/// As [`head_from_leader`].
pub async fn settled_head(
    conversations: &Conversations,
    key: &ConversationKey,
    head: Head,
    deadline: Deadline,
) -> Result<Head, Problem> {
    if !conversations.generations.finish_active(key, &head).await {
        return Ok(head);
    }
    let (head, _) = head_from_leader(conversations, key, deadline).await?;
    Ok(head)
}

/// The caller's conversation that a turn starts in, after an active run is finished whose parts have ended.
///
/// # Errors
/// As [`find_latest_chat`].
pub async fn find_settled_chat(conversations: &Conversations, caller: &Caller, id: &str) -> Result<OwnedChat, Problem> {
    settled(conversations, find_latest_chat(conversations, caller, id).await?).await
}

/// The conversation after an active run is finished whose parts have ended; otherwise unchanged.
///
/// # Errors
/// The conversation cannot be read.
pub async fn settled(conversations: &Conversations, chat: OwnedChat) -> Result<OwnedChat, Problem> {
    if !conversations.generations.finish_active(&chat.target.key, &chat.conversation.head).await {
        return Ok(chat);
    }
    let (conversation, _) = read_conversation(conversations, &chat.target).await?;
    Ok(OwnedChat { conversation, ..chat })
}
