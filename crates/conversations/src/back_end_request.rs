//! What a back end opens and changes for one of its end users.

use domain::{CommitId, ConversationId, ConversationKey, Head};
use history::{Bounds, Freshness, Prefetched, Range, Snapshot, Target};
use registry::{AgentAccess, Scope};
use wire::conversation::owner_to_proto;
use wire::proto::event::v1 as event;
use wire::proto::write::v1 as write;
use wire::status::Problem;

use crate::back_end::BackEnd;
use crate::commands::{Command, Issuer, command_target};
use crate::end_user::{EndUser, IdOrigin};
use crate::open::{head_from_leader, is_not_owned, settled_head};
use crate::problem::not_found;
use crate::{Conversations, positions};

/// A back end that acts for an end user, or for nobody.
#[derive(Debug, Clone, Copy)]
pub struct BackEndRequest<'a> {
    /// What it acts through.
    pub conversations: &'a Conversations,
    /// The back end.
    pub back_end: &'a BackEnd,
    /// The end user.
    pub end_user: &'a EndUser,
}

/// A conversation that a request names. It is not read: the writer checks whether the end user has it.
#[derive(Debug)]
pub struct Destination {
    access: AgentAccess,
    /// The conversation.
    pub key: ConversationKey,
    expected_owner: Option<event::Owner>,
}

/// A conversation that a request changes.
#[derive(Debug)]
pub struct Writable {
    /// The conversation.
    pub destination: Destination,
    /// Its head, read from the leader.
    pub head: Head,
}

impl<'a> BackEndRequest<'a> {
    /// The record's id of a conversation, also by the name that the end user's frontend gave it.
    ///
    /// # Errors
    /// As [`BackEnd::conversation_of`].
    pub async fn record_id(self, scope: Scope, id: ConversationId) -> Result<ConversationId, Problem> {
        let owner = self.end_user.owner();
        self.back_end.conversation_of(self.conversations, scope, owner.as_ref(), id).await
    }

    /// How to read a conversation, with every commit that was acknowledged before. [`BackEndRequest::open`] checks its owner.
    ///
    /// # Errors
    /// As [`BackEnd::target`].
    pub async fn target(self, id: ConversationId) -> Result<Target, Problem> {
        let id = self.record_id(Scope::Read, id).await?;
        let target = self.back_end.target(self.conversations, id.as_str()).await?;
        Ok(Target { freshness: Freshness::Leader, ..target })
    }

    /// Opens a snapshot of the end user's conversation, which the request names by an id of this origin. Later reads of the request
    /// include this one.
    ///
    /// # Errors
    /// [`not_found`] if the request may not open it; or it cannot be read.
    pub async fn open(self, target: &'a Target, origin: IdOrigin) -> Result<Snapshot<'a>, Problem> {
        let snapshot = Snapshot::open(&self.conversations.gateway.reader, target).await?;
        self.check(snapshot, origin).await
    }

    /// As [`BackEndRequest::open`]; also reads the first events of a range.
    ///
    /// # Errors
    /// As [`BackEndRequest::open`].
    pub async fn open_with(
        self,
        target: &'a Target,
        origin: IdOrigin,
        range: &Range<'_>,
        batch: Bounds,
    ) -> Result<(Snapshot<'a>, Prefetched), Problem> {
        let reader = &self.conversations.gateway.reader;
        let (snapshot, first) = Snapshot::open_with(reader, target, range, batch).await?;
        Ok((self.check(snapshot, origin).await?, first))
    }

    async fn check(self, snapshot: Snapshot<'a>, origin: IdOrigin) -> Result<Snapshot<'a>, Problem> {
        self.end_user.check_owner(origin, snapshot.owner())?;
        positions::record_read(&self.conversations.gateway, snapshot.key(), snapshot.position()).await?;
        Ok(snapshot)
    }

    /// A conversation to append to, which the request names by an id of this origin.
    ///
    /// # Errors
    /// The token lacks the scope `append`; or [`not_found`]: the token or the end user cannot have such a conversation.
    pub async fn destination(self, id: ConversationId, origin: IdOrigin) -> Result<Destination, Problem> {
        let id = self.record_id(Scope::Append, id).await?;
        let (access, key) = self.back_end.conversation(self.conversations, Scope::Append, id.as_str()).await?;
        let expected_owner = self.end_user.expected_owner(origin)?;
        Ok(Destination { access, key, expected_owner: expected_owner.as_ref().map(owner_to_proto) })
    }

    /// As [`BackEndRequest::destination`], for a change of what the request has read. An active run is finished if its parts have ended.
    ///
    /// # Errors
    /// As [`BackEndRequest::destination`]; or [`not_found`]: there is no such conversation of the agent and the end user.
    pub async fn writable(self, id: ConversationId, origin: IdOrigin) -> Result<Writable, Problem> {
        let destination = self.destination(id, origin).await?;
        let deadline = self.back_end.call.deadline;
        let (head, _) = head_from_leader(self.conversations, &destination.key, deadline).await?;
        if head.agent != destination.access.agent {
            return Err(not_found());
        }
        self.end_user.check_owner(origin, head.owner.as_ref())?;
        let head = settled_head(self.conversations, &destination.key, head, deadline).await?;
        Ok(Writable { destination, head })
    }

    /// Sends a command under the back end's token.
    ///
    /// # Errors
    /// As [`Commands::send`](crate::commands::Commands::send); [`not_found`] instead of the writer's reasons for a conversation of another
    /// owner.
    pub async fn send(self, command: impl Command) -> Result<write::CommitResult, Problem> {
        let sent = self.conversations.commands.send(Issuer::Service(&self.back_end.call), command).await;
        sent.map_err(|problem| if is_not_owned(problem.reason()) { not_found() } else { problem })
    }
}

impl Destination {
    /// The target of a command, at any version.
    #[must_use]
    pub fn target(&self, key: Option<CommitId>) -> write::CommandTarget {
        command_target(&self.access.agent, &self.key.conversation, key)
    }

    /// The command that appends events, if the conversation has the expected owner; at any version.
    #[must_use]
    pub fn append(&self, key: Option<CommitId>, events: Vec<event::Event>) -> write::AppendEventsRequest {
        write::AppendEventsRequest {
            target: Some(self.target(key)),
            events,
            expected_owner: self.expected_owner.clone(),
            ..write::AppendEventsRequest::default()
        }
    }
}

impl Writable {
    /// The command that appends events directly after the head.
    #[must_use]
    pub fn append(&self, key: CommitId, events: Vec<event::Event>) -> write::AppendEventsRequest {
        let expected_version = Some(self.head.version.0);
        write::AppendEventsRequest {
            target: Some(write::CommandTarget { expected_version, ..self.destination.target(Some(key)) }),
            ..self.destination.append(None, events)
        }
    }
}
