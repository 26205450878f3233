//! Commits as a writer would seal them, and a database to project them into.

use devstack::test::database;
use domain::event::{ConversationCreated, MessageAppended, Role};
use domain::{
    Actor, AgentId, ClientContext, CommitId, ConversationId, ConversationKey, Event, EventId, Fact,
    Head, Label, Owner, Part, Partition, Position, RequestDigest, Sequence, SessionId, TenantAccess,
    TenantId, Timestamp,
};
use read_model::projections::conversations::lease::{self, Checkpoint, Holder};
use read_model::projections::conversations::{Applied, ApplyError, Batch, Item, PlacedCommit, apply};
use read_model::{ReadModel, ReadModelConfig};
use uuid::Uuid;
use wire::commit::{Draft, open, seal};

/// 2023-11-14, not on a microsecond.
pub const START: Timestamp = Timestamp(1_700_000_000_123_456_789);
const SECOND: i64 = 1_000_000_000;

/// A migrated database with a lease on partition 0.
pub struct Projection {
    pub model: ReadModel,
    pub checkpoint: Checkpoint,
}

impl Projection {
    pub async fn new() -> Self {
        Self::at(&database().await.url).await
    }

    pub async fn at(url: &str) -> Self {
        let model = ReadModel::connect_lazy(&ReadModelConfig::new(url)).unwrap();
        model.migrate().await.unwrap();
        lease::ensure(&model, 8).await.unwrap();
        let checkpoint = take(&model, 0, "a").await.unwrap();
        Self { model, checkpoint }
    }

    /// The batch that follows the checkpoint.
    pub fn batch(&self, items: Vec<Item>) -> Batch {
        let last = items.iter().map(sequence).max().unwrap_or(self.checkpoint.sequence);
        Batch { lease: self.checkpoint.lease, previous: self.checkpoint.sequence, last, items }
    }

    pub async fn try_apply(&mut self, items: Vec<Item>) -> Result<Applied, ApplyError> {
        let batch = self.batch(items);
        let applied = apply(&self.model, std::slice::from_ref(&batch)).await?;
        self.checkpoint.sequence = batch.last;
        Ok(applied)
    }

    pub async fn apply(&mut self, items: Vec<Item>) -> Applied {
        self.try_apply(items).await.unwrap()
    }
}

pub async fn take(model: &ReadModel, partition: u16, holder: &str) -> Option<Checkpoint> {
    let holder = Holder(holder.to_owned());
    lease::take(model, Partition(partition), &holder, lease::LEASE_TTL_MS).await.unwrap()
}

pub fn sequence(item: &Item) -> Sequence {
    match item {
        Item::Commit(commit) => commit.position.sequence,
        Item::Unreadable { sequence, .. } => *sequence,
    }
}

pub fn access(tenant: &str) -> TenantAccess {
    TenantAccess::grant(TenantId::parse(tenant).unwrap())
}

/// Writes one conversation of the tenant `acme`.
#[derive(Clone)]
pub struct Author {
    pub key: ConversationKey,
    pub agent: AgentId,
    pub owner: Owner,
    pub created: ConversationCreated,
    head: Option<(Head, Sequence)>,
    commits: u128,
}

impl Author {
    pub fn new(conversation: &str) -> Self {
        let agent = AgentId::parse("support").unwrap();
        let owner = Owner::Session(SessionId::parse("session-1").unwrap());
        Self {
            key: ConversationKey {
                tenant: TenantId::parse("acme").unwrap(),
                conversation: ConversationId::parse(conversation).unwrap(),
            },
            created: ConversationCreated {
                agent: agent.clone(),
                owner: owner.clone(),
                title: None,
                metadata: None,
                client_context: ClientContext::default(),
                provider_conversation_id: None,
            },
            agent,
            owner,
            head: None,
            commits: 0,
        }
    }

    pub fn head(&self) -> &Head {
        &self.head.as_ref().unwrap().0
    }

    /// The next commit, at `sequence` of partition 0, recorded that many seconds after the start.
    pub fn commit(&mut self, sequence: u64, facts: Vec<Fact>) -> Item {
        let at = Timestamp(START.0 + i64::try_from(sequence).unwrap() * SECOND);
        self.commit_at(sequence, at, facts)
    }

    pub fn commit_at(&mut self, sequence: u64, recorded_at: Timestamp, facts: Vec<Fact>) -> Item {
        self.commits += 1;
        let id = self.commit_id(self.commits);
        let event = |(index, fact)| Event {
            id: EventId::derived(id, index),
            occurred_at: None,
            metadata: None,
            fact,
        };
        let events: Vec<Event> = facts.into_iter().enumerate().map(event).collect();
        let actor = Actor(Label::parse("tests").unwrap());
        let draft = Draft {
            tenant: &self.key.tenant,
            conversation: &self.key.conversation,
            id,
            request_digest: digest(sequence),
            recorded_at,
            actor: &actor,
            events: &events,
        };
        let previous = self.head.as_ref().map(|(head, sequence)| (head, *sequence));
        let sealed = seal(&draft, previous).unwrap();
        self.head = Some((sealed.head, Sequence(sequence)));
        Item::Commit(Box::new(PlacedCommit {
            position: Position { partition: Partition(0), sequence: Sequence(sequence) },
            opened: open(sealed.message).unwrap(),
        }))
    }

    /// The first commit, with nothing but the beginning.
    pub fn begin(&mut self, sequence: u64) -> Item {
        let created = Fact::ConversationCreated(self.created.clone());
        self.commit(sequence, vec![created])
    }

    /// A commit of one message.
    pub fn say(&mut self, sequence: u64, text: &str) -> Item {
        self.commit(sequence, vec![message(text)])
    }

    /// The id of the nth commit, 1 the first.
    pub fn commit_id(&self, nth: u128) -> CommitId {
        let namespace = Uuid::new_v5(&Uuid::NAMESPACE_OID, self.key.conversation.as_str().as_bytes());
        CommitId(Uuid::new_v5(&namespace, &nth.to_be_bytes()))
    }

    /// A message of its subject that is no commit.
    pub fn garbage(&self, sequence: u64) -> Item {
        Item::Unreadable {
            key: self.key.clone(),
            sequence: Sequence(sequence),
            reason: "the message is not a commit".to_owned(),
        }
    }
}

pub fn digest(sequence: u64) -> RequestDigest {
    RequestDigest(u128::from(sequence).to_be_bytes())
}

pub fn message(text: &str) -> Fact {
    Fact::MessageAppended(MessageAppended {
        role: Role::User,
        parts: vec![Part::Text(text.to_owned())],
        author: None,
        model: None,
        provider_response_id: None,
        finish_reason: None,
        usage: None,
    })
}

