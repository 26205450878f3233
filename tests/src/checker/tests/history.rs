//! A valid history for tests to damage.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::event::{
    ConversationCreated, ConversationUpdated, HistorySummarised, MessageAppended, Role, ToolCalled, ToolOutcome,
    ToolOutput, ToolReturned, Usage, UsageSource,
};
use domain::{
    Actor, AgentId, CallId, ClientContext, CommitId, ConversationId, ConversationKey, Event, EventId, EventTokens,
    Fact, FieldChange, Head, JsonText, Label, Layout, Lifecycle, NewEvent, Owner, Part, Partition, Position,
    RequestDigest, Sequence, SessionId, TenantId, Timestamp, ToolName, Version,
};
use uuid::Uuid;
use wire::commit::{Draft, Opened, open, seal};

use super::super::{Answer, Call, Expectation, Outcome, RecordContents, RecordedCommit};

const PARTITIONS: u16 = 8;
const STARTED_AT: i64 = 1_800_000_000_000_000_123;

/// A record and its calls.
#[derive(Debug, Clone)]
pub(super) struct TestHistory {
    pub(super) recorded: RecordContents,
    pub(super) calls: Vec<Call>,
}

pub(super) fn key() -> ConversationKey {
    ConversationKey { tenant: TenantId::parse("acme").unwrap(), conversation: ConversationId::parse("c1").unwrap() }
}

impl TestHistory {
    /// One conversation of six commits and nine events, each acknowledged at once.
    pub(super) fn valid() -> Self {
        let conversations = BTreeMap::from([(key(), Vec::new())]);
        let mut made =
            Self { recorded: RecordContents { layout: Layout::new(PARTITIONS), conversations }, calls: Vec::new() };
        made.append(vec![creation()]);
        made.append(vec![message(Role::User, "hello")]);
        made.append(vec![message(Role::Assistant, "a moment"), call("call-1")]);
        made.append(vec![tool_result("call-1"), message(Role::Assistant, "done")]);
        made.append(vec![rename("a title")]);
        made.append(vec![call("call-2"), message(Role::User, &"long ".repeat(400))]);
        made
    }

    /// The valid history after an erasure: the record has only the tombstone.
    pub(super) fn erased() -> Self {
        let mut made = Self::valid();
        made.append(vec![Fact::Lifecycle(Lifecycle::ConversationErased)]);
        let stone = made.commits().pop().unwrap();
        *made.commits() = vec![stone];
        made
    }

    pub(super) fn commits(&mut self) -> &mut Vec<RecordedCommit> {
        self.recorded.conversations.get_mut(&key()).unwrap()
    }

    /// Appends a commit to the record and its call to the calls.
    pub(super) fn append(&mut self, facts: Vec<Fact>) {
        let commit = self.next_commit(&facts);
        let number = u64::try_from(self.calls.len()).unwrap();
        self.calls.push(Call {
            key: commit.opened.commit.id,
            conversation: key(),
            asked: Expectation { events: facts.into_iter().enumerate().map(new_event).collect(), expected: None },
            invoked: Duration::from_secs(number * 2),
            settled: Duration::from_secs(number * 2 + 1),
            tries: 1,
            stream_place: None,
            outcome: Outcome::Committed(Answer {
                first_version: commit.opened.commit.first_version,
                version: commit.opened.commit.head.version,
                position: commit.position,
                recorded_at: commit.opened.commit.recorded_at,
            }),
        });
        self.commits().push(commit);
    }

    /// The next commit with these facts, without appending it.
    pub(super) fn next_commit(&mut self, facts: &[Fact]) -> RecordedCommit {
        let previous = self.commits().last().cloned();
        let sequence = previous.as_ref().map_or(1, |previous| previous.position.sequence.0 + 3);
        let previous = previous.map(|stored| (stored.opened.commit.head, stored.position.sequence));
        let opened = seal_commit(facts, sequence, previous.as_ref().map(|(head, at)| (head, *at)));
        let partition = Partition::of(&key().tenant, &key().conversation, PARTITIONS);
        RecordedCommit { position: Position { partition, sequence: Sequence(sequence) }, opened }
    }
}

fn new_event((index, fact): (usize, Fact)) -> NewEvent {
    NewEvent { id: None, occurred_at: occurred_at(index), metadata: None, tokens: 0, fact }
}

fn occurred_at(index: usize) -> Option<Timestamp> {
    (index == 0).then_some(Timestamp(STARTED_AT - 1_500))
}

fn seal_commit(facts: &[Fact], number: u64, previous: Option<(&Head, Sequence)>) -> Opened {
    let id = CommitId(Uuid::from_u128(u128::from(number)));
    let events: Vec<Event> = facts
        .iter()
        .enumerate()
        .map(|(index, fact)| Event {
            id: EventId::derived(id, index),
            occurred_at: occurred_at(index),
            metadata: None,
            tokens: EventTokens::default(),
            fact: fact.clone(),
        })
        .collect();
    let draft = Draft {
        tenant: &key().tenant,
        conversation: &key().conversation,
        id,
        request_digest: RequestDigest([7; 16]),
        recorded_at: Timestamp(STARTED_AT + i64::try_from(number).unwrap() * 1_001),
        actor: &Actor(Label::parse("tester").unwrap()),
        events: &events,
    };
    open(seal(&draft, previous).unwrap().message).unwrap()
}

pub(super) fn creation() -> Fact {
    Fact::from(ConversationCreated {
        agent: AgentId::parse("support").unwrap(),
        owner: Owner::Session(SessionId::parse("s1").unwrap()),
        title: None,
        metadata: Some(JsonText::parse(r#"{"a":1.0}"#).unwrap()),
        client_context: ClientContext { locale: Some("en".to_owned()), ..ClientContext::default() },
        provider_conversation_id: None,
        forked_from: None,
    })
}

pub(super) fn message(role: Role, text: &str) -> Fact {
    Fact::MessageAppended(MessageAppended {
        role,
        parts: vec![Part::Text(text.to_owned())],
        author: None,
        model: None,
        provider: None,
        provider_response_id: (role == Role::Assistant).then(|| Label::parse("r-1").unwrap()),
        finish_reason: None,
        usage: (role == Role::Assistant).then_some(Usage { input_tokens: 5, output_tokens: 7, ..Usage::default() }),
        usage_source: UsageSource::Reported,
    })
}

pub(super) fn call(id: &str) -> Fact {
    Fact::ToolCalled(ToolCalled {
        call_id: CallId::parse(id).unwrap(),
        tool_name: ToolName::parse("search").unwrap(),
        input: JsonText::parse("{}").unwrap(),
        model: None,
        provider: None,
        provider_response_id: None,
        signature: None,
    })
}

pub(super) fn summary(through: u64, previous: Option<u64>) -> Fact {
    Fact::from(HistorySummarised {
        through: Version(through),
        text: "They spoke.".to_owned(),
        model: None,
        previous: previous.map(Version),
    })
}

pub(super) fn tool_result(id: &str) -> Fact {
    Fact::ToolReturned(ToolReturned {
        call_id: CallId::parse(id).unwrap(),
        tool_name: Some(ToolName::parse("search").unwrap()),
        output: ToolOutput::Json(JsonText::parse("[]").unwrap()),
        outcome: ToolOutcome::Succeeded,
    })
}

pub(super) fn rename(title: &str) -> Fact {
    Fact::from(ConversationUpdated {
        title: Some(FieldChange::Set(title.to_owned())),
        ..ConversationUpdated::default()
    })
}

/// Increments the version without a check.
pub(super) fn incremented(version: Version) -> Version {
    Version(version.0 + 1)
}
