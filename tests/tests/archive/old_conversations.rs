//! Old conversations, appended to the record as by a writer of that time.

use std::iter;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::event::{ConversationCreated, MessageAppended, Role};
use domain::{
    Actor, AgentId, ClientContext, CommitId, ConversationId, ConversationKey, Event, EventId, EventTokens, Fact,
    ForkPoint, Head, Label, Owner, Part, Partition, RequestDigest, Sequence, SessionId, TenantId, Timestamp,
};
use event_log::{Append, AppendOutcome, Record, TraceHeaders};
use runtime::clock::Clock;
use uuid::Uuid;
use wire::commit::{Draft, seal};

use crate::fixture::{AGENT, TENANT};

const DAY_NANOS: i64 = 24 * 3_600 * 1_000_000_000;

/// An old conversation, as its writer knew it.
#[derive(Debug, Clone)]
pub(crate) struct OldConversation {
    pub(crate) key: ConversationKey,
    pub(crate) last: Option<(Head, Sequence)>,
    /// The ids of its commits.
    pub(crate) commits: Vec<CommitId>,
    forked_from: Option<ForkPoint>,
}

impl OldConversation {
    pub(crate) fn new(id: &str) -> Self {
        Self { key: key(id), last: None, commits: Vec::new(), forked_from: None }
    }

    /// A fork of another conversation after a version.
    pub(crate) fn fork(id: &str, parent: &Self, version: u64) -> Self {
        Self {
            forked_from: Some(ForkPoint {
                conversation: parent.key.conversation.clone(),
                version: domain::Version(version),
                depth: 1,
            }),
            ..Self::new(id)
        }
    }

    pub(crate) fn id(&self) -> &str {
        self.key.conversation.as_str()
    }

    /// Appends a message dated this many days ago; the first call only creates the conversation.
    pub(crate) async fn say(&mut self, record: &Record, days: i64, text: &str) {
        let fact = match &self.last {
            None => self.creation(),
            Some(_) => message(text),
        };
        self.append(record, days, vec![fact]).await;
    }

    /// Creates the conversation with messages, in one commit dated a hundred days ago.
    pub(crate) async fn begin(&mut self, record: &Record, texts: &[String]) {
        let messages = texts.iter().map(|text| message(text));
        let facts = iter::once(self.creation()).chain(messages).collect();
        self.append(record, 100, facts).await;
    }

    /// Appends a commit dated this many days ago.
    pub(crate) async fn append(&mut self, record: &Record, days: i64, facts: Vec<Fact>) {
        let expected = self.last.as_ref().map(|(_, at)| *at);
        self.append_after(record, days, facts, (expected, None)).await;
    }

    /// Appends a message dated this many days ago to the hibernated conversation.
    pub(crate) async fn wake(&mut self, record: &Record, days: i64, text: &str) {
        let partition = record.partition_of(&self.key).await.expect("a partition");
        let after = (None, Some(partition));
        self.append_after(record, days, vec![message(text)], after).await;
    }

    /// `after`: the last commit in the record, and the partition if the conversation is hibernated.
    async fn append_after(
        &mut self,
        record: &Record,
        days: i64,
        facts: Vec<Fact>,
        after: (Option<Sequence>, Option<Partition>),
    ) {
        let id = CommitId(Uuid::new_v4());
        let events: Vec<Event> = (0..)
            .zip(facts)
            .map(|(n, fact)| Event {
                id: EventId::derived(id, n),
                occurred_at: None,
                metadata: None,
                tokens: EventTokens::default(),
                fact,
            })
            .collect();
        let draft = Draft {
            tenant: &self.key.tenant,
            conversation: &self.key.conversation,
            id,
            request_digest: RequestDigest([7; 16]),
            recorded_at: Timestamp(Clock::System.now_nanos() - days * DAY_NANOS),
            actor: &Actor(Label::parse("test").expect("a label")),
            events: &events,
        };
        let before = self.last.as_ref().map(|(head, at)| (head, *at));
        let sealed = seal(&draft, before).expect("a commit");
        let append = Append {
            commit: id,
            message: sealed.message,
            expected: after.0,
            hibernated_in: after.1,
            trace: TraceHeaders::default(),
        };
        match record.append(&self.key, append).await {
            Ok(AppendOutcome::Committed { sequence }) => {
                self.last = Some((sealed.head, sequence));
                self.commits.push(id);
            }
            other => panic!("{other:?}"),
        }
    }

    /// Appends this many messages, dated a hundred days ago.
    pub(crate) async fn chat(mut self, record: &Record, messages: usize) -> Self {
        self.say(record, 100, "").await;
        for n in 0..messages {
            let text = format!("{} says {n}", self.id());
            self.say(record, 100, &text).await;
        }
        self
    }

    fn creation(&self) -> Fact {
        Fact::from(ConversationCreated {
            agent: AgentId::parse(AGENT).expect("an agent"),
            owner: Owner::Session(SessionId::parse("s").expect("a session")),
            title: None,
            metadata: None,
            client_context: ClientContext::default(),
            provider_conversation_id: None,
            forked_from: self.forked_from.clone(),
        })
    }
}

fn message(text: &str) -> Fact {
    let parts = vec![Part::Text(text.to_owned())];
    Fact::MessageAppended(MessageAppended::new(Role::User, parts))
}

pub(crate) fn key(id: &str) -> ConversationKey {
    ConversationKey {
        tenant: TenantId::parse(TENANT).expect("a tenant"),
        conversation: ConversationId::parse(id).expect("an id"),
    }
}

/// Text that compression reduces to three quarters at most.
pub(crate) fn noise(seed: usize, bytes: usize) -> String {
    let mut random = Vec::with_capacity(bytes);
    let mut state = u64::try_from(seed).expect("a seed") + 1;
    while random.len() * 4 / 3 < bytes {
        // xorshift64*
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        random.extend(state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_be_bytes());
    }
    STANDARD.encode(random)
}
