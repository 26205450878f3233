//! Commits as a writer seals them, and a database to project them into.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use devstack::test::database;
use devstack::{PostgresConfig, PostgresServer, quiet};
use domain::event::{ConversationCreated, DocumentDeleted, DocumentPut, MessageAppended, Role, Usage};
use domain::{
    Actor, AgentId, ClientContext, CommitId, Conversation, ConversationId, ConversationKey, DocumentName, Event,
    EventId, EventTokens, Fact, Head, JsonText, Label, Owner, Part, Partition, Position, RequestDigest, Sequence,
    SessionId, TenantAccess, TenantId, Timestamp,
};
use read_model::projections::conversations::lease::{self, Checkpoint, Holder};
use read_model::projections::conversations::{Applied, ApplyError, Batch, Item, apply};
use read_model::{ListFilter, ListQuery, ReadModel, ReadModelConfig, SchemaName, conversation};
use sqlx::{Connection as _, PgConnection};
use tempfile::TempDir;
use uuid::Uuid;
use wire::commit::{Draft, StoredCommit, open, seal};
use wire::token::RecordId;

/// 2023-11-14, with nanoseconds.
pub(crate) const START: Timestamp = Timestamp(1_700_000_000_123_456_789);
/// The record of all commits.
pub(crate) const RECORD: RecordId = RecordId([7; 8]);
const SECOND: i64 = 1_000_000_000;

/// A migrated database with a lease of partition 0 in the first schema.
pub(crate) struct Projection {
    pub(crate) model: ReadModel,
    pub(crate) checkpoint: Checkpoint,
}

impl Projection {
    pub(crate) async fn new() -> Self {
        Self::at(&database().await.url).await
    }

    pub(crate) async fn at(url: &str) -> Self {
        let model = ReadModel::connect_lazy(&ReadModelConfig::new(url)).unwrap();
        model.migrate().await.unwrap();
        Self::of(model.in_schema(SchemaName::FIRST)).await
    }

    /// With a lease of partition 0 in the schema of `model`.
    pub(crate) async fn of(model: ReadModel) -> Self {
        lease::ensure(&model, 8).await.unwrap();
        let checkpoint = take(&model, 0, "a").await.unwrap();
        Self { model, checkpoint }
    }

    /// The batch that follows the checkpoint.
    pub(crate) fn batch(&self, items: Vec<Item>) -> Batch {
        let last = items.iter().map(sequence).max().unwrap_or(self.checkpoint.sequence);
        Batch { record: RECORD, lease: self.checkpoint.lease, previous: self.checkpoint.sequence, last, items }
    }

    pub(crate) async fn try_apply(&mut self, items: Vec<Item>) -> Result<Applied, ApplyError> {
        let batch = self.batch(items);
        let applied = apply(&self.model, std::slice::from_ref(&batch)).await?;
        self.checkpoint.sequence = batch.last;
        Ok(applied)
    }

    pub(crate) async fn apply(&mut self, items: Vec<Item>) -> Applied {
        self.try_apply(items).await.unwrap()
    }

    /// The row of the author's conversation.
    pub(crate) async fn row(&self, author: &Author) -> Option<Conversation> {
        conversation(&self.model, &access("acme"), &author.key.conversation).await.unwrap()
    }
}

pub(crate) async fn take(model: &ReadModel, partition: u16, holder: &str) -> Option<Checkpoint> {
    let holder = Holder(holder.to_owned());
    lease::take(model, Partition(partition), &holder, lease::LEASE_TTL_MS).await.unwrap()
}

pub(crate) fn sequence(item: &Item) -> Sequence {
    match item {
        Item::Commit(commit) => commit.position.sequence,
        Item::Unreadable { sequence, .. } => *sequence,
    }
}

/// Runs statements as the owner of the database.
pub(crate) async fn execute(url: &str, sql: &'static str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
}

pub(crate) fn access(tenant: &str) -> TenantAccess {
    TenantAccess::grant(TenantId::parse(tenant).unwrap())
}

/// Writes one conversation of the tenant `acme`.
#[derive(Clone)]
pub(crate) struct Author {
    pub(crate) key: ConversationKey,
    pub(crate) created: ConversationCreated,
    head: Option<(Head, Sequence)>,
    commits: u128,
}

impl Author {
    pub(crate) fn new(conversation: &str) -> Self {
        Self {
            key: ConversationKey {
                tenant: TenantId::parse("acme").unwrap(),
                conversation: ConversationId::parse(conversation).unwrap(),
            },
            created: ConversationCreated {
                agent: AgentId::parse("support").unwrap(),
                owner: Owner::Session(SessionId::parse("session-1").unwrap()),
                title: None,
                metadata: None,
                client_context: ClientContext::default(),
                provider_conversation_id: None,
                forked_from: None,
            },
            head: None,
            commits: 0,
        }
    }

    pub(crate) fn head(&self) -> &Head {
        &self.head.as_ref().unwrap().0
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.head.is_some()
    }

    /// The next commit, at `sequence` of partition 0, recorded `sequence` seconds after [`START`].
    pub(crate) fn commit(&mut self, sequence: u64, facts: Vec<Fact>) -> Item {
        let at = Timestamp(START.0 + i64::try_from(sequence).unwrap() * SECOND);
        self.commit_at(sequence, at, facts)
    }

    pub(crate) fn commit_at(&mut self, sequence: u64, recorded_at: Timestamp, facts: Vec<Fact>) -> Item {
        let message = self.seal_at(sequence, recorded_at, facts);
        Item::Commit(Box::new(StoredCommit {
            position: Position { partition: Partition(0), sequence: Sequence(sequence) },
            opened: open(message).unwrap(),
        }))
    }

    /// The message of the next commit.
    pub(crate) fn seal_at(&mut self, sequence: u64, recorded_at: Timestamp, facts: Vec<Fact>) -> Bytes {
        self.commits += 1;
        let id = self.commit_id(self.commits);
        let event = |(index, fact)| Event {
            id: EventId::derived(id, index),
            occurred_at: None,
            metadata: None,
            tokens: EventTokens::default(),
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
        sealed.message
    }

    /// The first commit, which only creates the conversation.
    pub(crate) fn begin(&mut self, sequence: u64) -> Item {
        let created = Fact::from(self.created.clone());
        self.commit(sequence, vec![created])
    }

    /// A commit of one message.
    pub(crate) fn say(&mut self, sequence: u64, text: &str) -> Item {
        self.commit(sequence, vec![message(text)])
    }

    /// The id of the nth commit, from 1.
    pub(crate) fn commit_id(&self, nth: u128) -> CommitId {
        let namespace = Uuid::new_v5(&Uuid::NAMESPACE_OID, self.key.conversation.as_str().as_bytes());
        CommitId(Uuid::new_v5(&namespace, &nth.to_be_bytes()))
    }

    /// A message of the conversation's subject that is not a commit.
    pub(crate) fn garbage(&self, sequence: u64) -> Item {
        Item::Unreadable {
            key: self.key.clone(),
            sequence: Sequence(sequence),
            reason: "the message is not a commit".to_owned(),
        }
    }
}

/// A query of the first 100 conversations of a filter.
pub(crate) fn list_query(filter: ListFilter) -> ListQuery {
    ListQuery { filter, status: None, active_after: None, active_before: None, after: None, limit: 100 }
}

pub(crate) fn digest(sequence: u64) -> RequestDigest {
    RequestDigest(u128::from(sequence).to_be_bytes())
}

pub(crate) fn message(text: &str) -> Fact {
    Fact::MessageAppended(said(Role::User, text))
}

/// A value of the document `key`.
pub(crate) fn document_put(key: &str, value: &str, ttl_seconds: Option<u64>) -> Fact {
    Fact::from(DocumentPut { name: document_name(key), value: JsonText::parse(value).unwrap(), ttl_seconds })
}

/// The deletion of the document `key`.
pub(crate) fn document_deleted(key: &str) -> Fact {
    let name = document_name(key);
    Fact::from(DocumentDeleted { name })
}

/// The document `key` of the namespace `n`.
pub(crate) fn document_name(key: &str) -> DocumentName {
    DocumentName::parse(vec!["n".to_owned()], key.to_owned()).unwrap()
}

fn said(role: Role, text: &str) -> MessageAppended {
    MessageAppended::new(role, vec![Part::Text(text.to_owned())])
}

/// A message of the assistant with its usage.
pub(crate) fn reply(model: Option<&str>, usage: Option<Usage>) -> Fact {
    Fact::MessageAppended(MessageAppended {
        model: model.map(|model| Label::parse(model).unwrap()),
        usage,
        ..said(Role::Assistant, "answer")
    })
}

/// A Postgres server that syncs to disk, as in production, for measurements.
pub(crate) struct DurableServer {
    server: PostgresServer,
    databases: AtomicU64,
    _folder: TempDir,
}

impl DurableServer {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Postgres may run as another user, who needs access.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let config = PostgresConfig::new(folder.path().join("postgres"));
        Self {
            server: PostgresServer::start(config, &quiet).await.unwrap(),
            databases: AtomicU64::new(0),
            _folder: folder,
        }
    }

    /// The URL of an empty database.
    pub(crate) async fn database(&self) -> String {
        let name = format!("measured_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.server.create_database(&name).await.unwrap();
        self.server.database_url(&name)
    }

    pub(crate) async fn stop(self) {
        self.server.stop().await;
    }
}

/// The item with another commit id.
pub(crate) fn with_id(item: &Item, id: CommitId) -> Item {
    let Item::Commit(placed) = item else { panic!() };
    let mut placed = placed.clone();
    placed.opened.commit.id = id;
    Item::Commit(placed)
}
