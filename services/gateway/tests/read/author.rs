//! Appends commits to a conversation, like a writer.

use domain::event::ConversationCreated;
use domain::{
    Actor, AgentId, ClientContext, CommitId, ConversationId, ConversationKey, Event, EventId, EventTokens, Fact, Head,
    Label, Lifecycle, Owner, Position, RequestDigest, Sequence, SessionId, TenantId, Timestamp,
};
use event_log::{Append, AppendOutcome, StoredCommit, TraceHeaders};
use uuid::Uuid;
use wire::commit::{Draft, Sealed, open, seal};
use wire::token::PositionToken;

use crate::stack::{AGENT, Stack, TENANT};

/// The one writer of a conversation.
pub(crate) struct Author<'s> {
    pub(crate) stack: &'s Stack,
    pub(crate) key: ConversationKey,
    pub(crate) agent: AgentId,
    /// Every commit, in order.
    pub(crate) commits: Vec<StoredCommit>,
    projected: usize,
}

impl<'s> Author<'s> {
    /// Begins a conversation of the default agent with a new session.
    pub(crate) async fn begin(stack: &'s Stack) -> Self {
        let session = SessionId::parse(Uuid::now_v7().to_string()).unwrap();
        Self::begin_with(stack, Owner::Session(session), (TENANT, AGENT)).await
    }

    pub(crate) async fn begin_with(stack: &'s Stack, owner: Owner, of: (&str, &str)) -> Self {
        let id = ConversationId::parse(Uuid::now_v7().to_string()).unwrap();
        Self::begin_as(stack, owner, of, id).await
    }

    /// Begins a conversation of an agent of a tenant with this id.
    pub(crate) async fn begin_as(
        stack: &'s Stack,
        owner: Owner,
        (tenant, agent): (&str, &str),
        id: ConversationId,
    ) -> Self {
        let agent = AgentId::parse(agent).unwrap();
        let mut author = Self {
            stack,
            key: ConversationKey { tenant: TenantId::parse(tenant).unwrap(), conversation: id },
            agent: agent.clone(),
            commits: Vec::new(),
            projected: 0,
        };
        let created = ConversationCreated {
            agent,
            owner,
            title: Some("first title".to_owned()),
            metadata: None,
            client_context: ClientContext::default(),
            provider_conversation_id: None,
            forked_from: None,
        };
        author.append(vec![Fact::from(created)]).await;
        author
    }

    /// Appends a commit. Returns the token of its position.
    pub(crate) async fn append(&mut self, facts: Vec<Fact>) -> String {
        let commit = CommitId(Uuid::now_v7());
        let sealed = self.seal(commit, facts);
        let append = Append {
            commit,
            message: sealed.message.clone(),
            expected: self.last().map(|(_, sequence)| sequence),
            hibernated_in: None,
            trace: TraceHeaders::default(),
        };
        let outcome = self.stack.record.append(&self.key, append).await.unwrap();
        let AppendOutcome::Committed { sequence } = outcome else {
            panic!("no other writer appends: {outcome:?}");
        };
        self.take(&sealed, sequence);
        self.token()
    }

    /// Creates a commit after the last one that is not in the record, as if a replica did not have it yet.
    pub(crate) fn withhold(&mut self, facts: Vec<Fact>) {
        let sealed = self.seal(CommitId(Uuid::now_v7()), facts);
        let (_, last) = self.last().unwrap();
        self.take(&sealed, Sequence(last.0 + 1_000_000));
    }

    /// Creates a commit that is not in the record, as if it were lost. The next commit follows it.
    pub(crate) fn lose(&mut self, facts: Vec<Fact>) {
        let sealed = self.seal(CommitId(Uuid::now_v7()), facts);
        let (_, last) = self.last().unwrap();
        self.take(&sealed, last);
    }

    /// Erases the conversation.
    pub(crate) async fn erase(&mut self) {
        self.append(vec![Fact::Lifecycle(Lifecycle::ConversationErased)]).await;
        self.stack.record.erase_before_last(&self.key).await.unwrap();
    }

    /// Projects the first `commits` commits.
    pub(crate) async fn project(&mut self, commits: usize) {
        self.stack.projection.apply(&self.commits[self.projected..commits]).await;
        self.projected = commits;
    }

    /// Projects every commit.
    pub(crate) async fn project_all(&mut self) {
        self.project(self.commits.len()).await;
    }

    /// The version of the last event.
    pub(crate) fn version(&self) -> u64 {
        self.last().unwrap().0.version.0
    }

    /// The token of the last commit's position.
    pub(crate) fn token(&self) -> String {
        let last = self.commits.last().unwrap();
        PositionToken {
            record: self.stack.record.id(),
            position: last.position,
            version: last.opened.commit.head.version,
        }
        .encode()
    }

    fn last(&self) -> Option<(&Head, Sequence)> {
        let last = self.commits.last()?;
        Some((&last.opened.commit.head, last.position.sequence))
    }

    fn seal(&self, commit: CommitId, facts: Vec<Fact>) -> Sealed {
        let event = |(index, fact)| Event {
            id: EventId::derived(commit, index),
            occurred_at: None,
            metadata: None,
            tokens: EventTokens::default(),
            fact,
        };
        let events: Vec<Event> = facts.into_iter().enumerate().map(event).collect();
        let draft = Draft {
            tenant: &self.key.tenant,
            conversation: &self.key.conversation,
            id: commit,
            request_digest: RequestDigest([0; 16]),
            recorded_at: Timestamp(1_700_000_000_000_000_000 + i64::from(self.made())),
            actor: &Actor(Label::parse("test").unwrap()),
            events: &events,
        };
        seal(&draft, self.last()).unwrap()
    }

    fn made(&self) -> u32 {
        u32::try_from(self.commits.len()).unwrap() * 1_000
    }

    fn take(&mut self, sealed: &Sealed, sequence: Sequence) {
        let layout = self.stack.record.layout();
        let partition = layout.only_candidate(&self.key).unwrap();
        self.commits.push(StoredCommit {
            position: Position { partition, sequence },
            opened: open(sealed.message.clone()).unwrap(),
        });
    }
}
