//! Records, conversations and commits for tests.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use devstack::NatsServer;
use domain::{
    Actor, AgentId, ClientContext, CommitId, ConversationId, ConversationKey, Event, EventId, EventTokens, Fact, Head,
    Label, Owner, RequestDigest, Sequence, SessionId, TenantId, Timestamp,
    event::{ConversationCreated, SystemNoted},
};
use event_log::{Append, AppendOutcome, Record, RecordConfig, TraceHeaders, Unavailable};
use uuid::Uuid;
use wire::commit::{Draft, seal};

/// Timeout of a condition.
const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) fn config(url: &str) -> RecordConfig {
    RecordConfig { request_timeout_ms: 3_000, ..RecordConfig::new(url) }
}

/// A record of one partition, so that all conversations share a stream.
pub(crate) async fn record_of_one(server: &NatsServer) -> Record {
    Record::create(config_of_one(server)).await.unwrap()
}

pub(crate) fn config_of_one(server: &NatsServer) -> RecordConfig {
    RecordConfig { partitions: 1, ..config(&server.url()) }
}

pub(crate) async fn jetstream(server: &NatsServer) -> async_nats::jetstream::Context {
    async_nats::jetstream::new(async_nats::connect(server.url()).await.unwrap())
}

pub(crate) fn tenant(id: &str) -> TenantId {
    TenantId::parse(id).unwrap()
}

pub(crate) fn agent(id: &str) -> AgentId {
    AgentId::parse(id).unwrap()
}

/// A conversation and the last head that its writer knows.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    pub(crate) key: ConversationKey,
    pub(crate) head: Option<(Head, Sequence)>,
}

/// A sealed commit and its head.
#[derive(Debug, Clone)]
pub(crate) struct SealedCommit {
    pub(crate) append: Append,
    pub(crate) head: Head,
}

impl Writer {
    pub(crate) fn of(conversation: &str) -> Self {
        Self {
            key: ConversationKey { tenant: tenant("acme"), conversation: ConversationId::parse(conversation).unwrap() },
            head: None,
        }
    }

    /// The next commit: the first creates the conversation, later ones are notes.
    pub(crate) fn seal(&self, text: &str) -> SealedCommit {
        self.seal_as(CommitId(Uuid::now_v7()), text)
    }

    pub(crate) fn seal_as(&self, id: CommitId, text: &str) -> SealedCommit {
        let events = [Event {
            id: EventId::derived(id, 0),
            occurred_at: None,
            metadata: None,
            tokens: EventTokens::default(),
            fact: self.fact(text),
        }];
        let draft = Draft {
            tenant: &self.key.tenant,
            conversation: &self.key.conversation,
            id,
            request_digest: RequestDigest([0; 16]),
            recorded_at: Timestamp(1),
            actor: &Actor(Label::parse("test").unwrap()),
            events: &events,
        };
        let previous = self.head.as_ref().map(|(head, at)| (head, *at));
        let sealed = seal(&draft, previous).unwrap();
        SealedCommit {
            append: Append {
                commit: id,
                message: sealed.message,
                expected: self.head.as_ref().map(|(_, at)| *at),
                hibernated_in: None,
                trace: TraceHeaders::default(),
            },
            head: sealed.head,
        }
    }

    fn fact(&self, text: &str) -> Fact {
        if self.head.is_some() {
            return Fact::from(SystemNoted { topic: None, text: text.to_owned() });
        }
        Fact::from(ConversationCreated {
            agent: agent("bot"),
            owner: Owner::Session(SessionId::parse("s").unwrap()),
            title: Some(text.to_owned()),
            metadata: None,
            client_context: ClientContext::default(),
            provider_conversation_id: None,
            forked_from: None,
        })
    }

    /// Appends the next commit.
    pub(crate) async fn append(&mut self, record: &Record, text: &str) -> Sequence {
        let sealed = self.seal(text);
        let outcome = record.append(&self.key, sealed.append.clone()).await;
        self.advance(sealed, outcome)
    }

    /// Appends the next commit, and retries it until its outcome is known.
    pub(crate) async fn append_until_known(&mut self, record: &Record, text: &str) -> (Append, Sequence) {
        let sealed = self.seal(text);
        let append = sealed.append.clone();
        let at = self.append_sealed_until_known(record, sealed).await;
        (append, at)
    }

    /// Appends a sealed commit, and retries it until its outcome is known.
    pub(crate) async fn append_sealed_until_known(&mut self, record: &Record, sealed: SealedCommit) -> Sequence {
        let outcome = loop {
            let outcome = record.append(&self.key, sealed.append.clone()).await;
            if outcome.is_ok() {
                break outcome;
            }
        };
        self.advance(sealed, outcome)
    }

    pub(crate) fn advance(&mut self, sealed: SealedCommit, outcome: Result<AppendOutcome, Unavailable>) -> Sequence {
        match outcome {
            Ok(AppendOutcome::Committed { sequence } | AppendOutcome::Duplicate { sequence }) => {
                self.head = Some((sealed.head, sequence));
                sequence
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Random text that hardly compresses.
pub(crate) fn noise(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 36);
    while text.len() < bytes {
        text.push_str(&Uuid::new_v4().to_string());
    }
    text
}

/// Awaits a future with a timeout.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let result = tokio::time::timeout(TIMEOUT, future).await;
    result.unwrap_or_else(|_| panic!("timeout: {what}"))
}

/// Polls until a condition holds.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let polling = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    soon(what, polling).await;
}

/// The sequence and id of every commit of a record's only partition.
pub(crate) async fn all_commits(url: &str) -> Vec<(u64, CommitId)> {
    let messages = all_messages(url).await.into_iter();
    messages.map(|(sequence, message)| (sequence, wire::commit::open(message).unwrap().commit.id)).collect()
}

/// Every message of a record's only partition, read from its stream.
pub(crate) async fn all_messages(url: &str) -> Vec<(u64, Bytes)> {
    let client = async_nats::connect(url).await.unwrap();
    let stream = async_nats::jetstream::new(client).get_stream("HANSARD_0").await.unwrap();
    let state = &stream.cached_info().state;
    let mut messages = Vec::new();
    for sequence in state.first_sequence.max(1)..=state.last_sequence {
        if let Ok(message) = stream.direct_get(sequence).await {
            messages.push((sequence, message.payload));
        }
    }
    messages
}
