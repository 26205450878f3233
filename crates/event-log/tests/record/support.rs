//! Records, conversations and commits to test with.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use devstack::NatsServer;
use domain::{
    Actor, AgentId, ClientContext, CommitId, ConversationId, ConversationKey, Event, EventId,
    EventTokens, Fact, Head, Label, Owner, RequestDigest, Sequence, SessionId, TenantId, Timestamp,
    event::{ConversationCreated, SystemNoted},
};
use event_log::{Append, AppendOutcome, Record, RecordConfig, TraceHeaders, Unavailable};
use uuid::Uuid;
use wire::commit::{Draft, seal};

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn config(url: &str) -> RecordConfig {
    RecordConfig {
        request_timeout_ms: 3_000,
        ..RecordConfig::new(url)
    }
}

/// A record of one partition, so that all conversations share a stream.
pub(crate) async fn record_of_one(server: &NatsServer) -> Record {
    let config = RecordConfig {
        partitions: 1,
        ..config(&server.url())
    };
    Record::create(config).await.unwrap()
}

pub(crate) fn tenant(id: &str) -> TenantId {
    TenantId::parse(id).unwrap()
}

pub(crate) fn agent(id: &str) -> AgentId {
    AgentId::parse(id).unwrap()
}

/// A conversation as one writer knows it.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    pub(crate) key: ConversationKey,
    pub(crate) head: Option<(Head, Sequence)>,
}

/// A sealed commit, and the head that it makes.
#[derive(Debug, Clone)]
pub(crate) struct Draught {
    pub(crate) append: Append,
    pub(crate) head: Head,
}

impl Writer {
    pub(crate) fn of(conversation: &str) -> Self {
        Self {
            key: ConversationKey {
                tenant: tenant("acme"),
                conversation: ConversationId::parse(conversation).unwrap(),
            },
            head: None,
        }
    }

    /// The next commit: the first begins the conversation, later ones note something.
    pub(crate) fn draw(&self, text: &str) -> Draught {
        self.draw_as(CommitId(Uuid::now_v7()), text)
    }

    pub(crate) fn draw_as(&self, id: CommitId, text: &str) -> Draught {
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
        Draught {
            append: Append {
                commit: id,
                message: sealed.message,
                expected: self.head.as_ref().map(|(_, at)| *at),
                trace: TraceHeaders::default(),
            },
            head: sealed.head,
        }
    }

    fn fact(&self, text: &str) -> Fact {
        if self.head.is_some() {
            return Fact::from(SystemNoted {
                topic: None,
                text: text.to_owned(),
            });
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

    /// Appends the next commit, and goes on from it.
    pub(crate) async fn append(&mut self, record: &Record, text: &str) -> Sequence {
        let draught = self.draw(text);
        let outcome = record.append(&self.key, draught.append.clone()).await;
        self.took(draught, outcome)
    }

    pub(crate) fn took(
        &mut self,
        draught: Draught,
        outcome: Result<AppendOutcome, Unavailable>,
    ) -> Sequence {
        match outcome {
            Ok(AppendOutcome::Committed { sequence } | AppendOutcome::Duplicate { sequence }) => {
                self.head = Some((draught.head, sequence));
                sequence
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Text that no compression makes much smaller.
pub(crate) fn noise(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 36);
    while text.len() < bytes {
        text.push_str(&Uuid::new_v4().to_string());
    }
    text
}

/// Awaits what must come in time.
pub(crate) async fn soon<T>(what: &str, coming: impl Future<Output = T>) -> T {
    let came = tokio::time::timeout(PATIENCE, coming).await;
    came.unwrap_or_else(|_| panic!("{what} did not come in time"))
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

/// Every message of a record's only partition, straight from the stream.
pub(crate) async fn all_messages(url: &str) -> Vec<(u64, Bytes)> {
    let client = async_nats::connect(url).await.unwrap();
    let stream = async_nats::jetstream::new(client);
    let stream = stream.get_stream("HANSARD_0").await.unwrap();
    let state = &stream.cached_info().state;
    let mut messages = Vec::new();
    for sequence in state.first_sequence.max(1)..=state.last_sequence {
        if let Ok(message) = stream.direct_get(sequence).await {
            messages.push((sequence, message.payload));
        }
    }
    messages
}
