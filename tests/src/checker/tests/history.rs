//! An honest history, made by hand, for tests to break.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::event::{
    ConversationCreated, ConversationUpdated, HistorySummarised, MessageAppended, Role, ToolCalled,
    ToolOutcome, ToolOutput, ToolReturned, Usage,
};
use domain::{
    Actor, AgentId, CallId, ClientContext, CommitId, ConversationId, ConversationKey, Event,
    EventId, EventTokens, Fact, FieldChange, Head, JsonText, Label, Lifecycle, NewEvent, Owner,
    Part, Partition, Position, RequestDigest, Sequence, SessionId, TenantId, Timestamp, ToolName,
    Version,
};
use uuid::Uuid;
use wire::commit::{Draft, Opened, open, seal};

use super::super::{Answer, Asked, Call, Outcome, Recorded, RecordedCommit};

const PARTITIONS: u16 = 8;
const STARTED_AT: i64 = 1_800_000_000_000_000_123;

/// A record and the calls that made it.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) recorded: Recorded,
    pub(super) calls: Vec<Call>,
}

pub(super) fn key() -> ConversationKey {
    ConversationKey {
        tenant: TenantId::parse("acme").unwrap(),
        conversation: ConversationId::parse("c1").unwrap(),
    }
}

impl Made {
    /// One conversation of six commits and nine events, each acknowledged at once.
    pub(super) fn honest() -> Self {
        let conversations = BTreeMap::from([(key(), Vec::new())]);
        let mut made = Self {
            recorded: Recorded {
                partitions: PARTITIONS,
                conversations,
            },
            calls: Vec::new(),
        };
        made.append(vec![created()]);
        made.append(vec![said(Role::User, "hello")]);
        made.append(vec![said(Role::Assistant, "a moment"), called("call-1")]);
        made.append(vec![returned("call-1"), said(Role::Assistant, "done")]);
        made.append(vec![renamed("a title")]);
        made.append(vec![
            called("call-2"),
            said(Role::User, &"long ".repeat(400)),
        ]);
        made
    }

    /// The honest one, then erased: its tombstone is all that the record holds.
    pub(super) fn erased() -> Self {
        let mut made = Self::honest();
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
            asked: Asked {
                events: facts.into_iter().enumerate().map(new_event).collect(),
                expected: None,
            },
            invoked: Duration::from_secs(number * 2),
            settled: Duration::from_secs(number * 2 + 1),
            tries: 1,
            pipelined: None,
            outcome: Outcome::Committed(Answer {
                first_version: commit.opened.commit.first_version,
                version: commit.opened.commit.head.version,
                position: commit.position,
                recorded_at: commit.opened.commit.recorded_at,
            }),
        });
        self.commits().push(commit);
    }

    /// The commit that these facts come to after the last one, not appended.
    pub(super) fn next_commit(&mut self, facts: &[Fact]) -> RecordedCommit {
        let previous = self.commits().last().cloned();
        let sequence = previous
            .as_ref()
            .map_or(1, |previous| previous.position.sequence.0 + 3);
        let previous = previous.map(|stored| (stored.opened.commit.head, stored.position.sequence));
        let opened = sealed(
            facts,
            sequence,
            previous.as_ref().map(|(head, at)| (head, *at)),
        );
        let partition = Partition::of(&key().tenant, &key().conversation, PARTITIONS);
        RecordedCommit {
            position: Position {
                partition,
                sequence: Sequence(sequence),
            },
            opened,
        }
    }
}

fn new_event((index, fact): (usize, Fact)) -> NewEvent {
    NewEvent {
        id: None,
        occurred_at: occurred_at(index),
        metadata: None,
        tokens: 0,
        fact,
    }
}

fn occurred_at(index: usize) -> Option<Timestamp> {
    (index == 0).then_some(Timestamp(STARTED_AT - 1_500))
}

fn sealed(facts: &[Fact], number: u64, previous: Option<(&Head, Sequence)>) -> Opened {
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

pub(super) fn created() -> Fact {
    Fact::from(ConversationCreated {
        agent: AgentId::parse("support").unwrap(),
        owner: Owner::Session(SessionId::parse("s1").unwrap()),
        title: None,
        metadata: Some(JsonText::parse(r#"{"a":1.0}"#).unwrap()),
        client_context: ClientContext {
            locale: Some("en".to_owned()),
            ..ClientContext::default()
        },
        provider_conversation_id: None,
        forked_from: None,
    })
}

pub(super) fn said(role: Role, text: &str) -> Fact {
    Fact::MessageAppended(MessageAppended {
        role,
        parts: vec![Part::Text(text.to_owned())],
        author: None,
        model: None,
        provider: None,
        provider_response_id: (role == Role::Assistant).then(|| Label::parse("r-1").unwrap()),
        finish_reason: None,
        usage: (role == Role::Assistant).then_some(Usage {
            input_tokens: 5,
            output_tokens: 7,
            ..Usage::default()
        }),
    })
}

pub(super) fn called(id: &str) -> Fact {
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

pub(super) fn summarised(through: u64, previous: Option<u64>) -> Fact {
    Fact::from(HistorySummarised {
        through: Version(through),
        text: "They spoke.".to_owned(),
        model: None,
        previous: previous.map(Version),
    })
}

pub(super) fn returned(id: &str) -> Fact {
    Fact::ToolReturned(ToolReturned {
        call_id: CallId::parse(id).unwrap(),
        tool_name: Some(ToolName::parse("search").unwrap()),
        output: ToolOutput::Json(JsonText::parse("[]").unwrap()),
        outcome: ToolOutcome::Succeeded,
    })
}

pub(super) fn renamed(title: &str) -> Fact {
    Fact::from(ConversationUpdated {
        title: Some(FieldChange::Set(title.to_owned())),
        ..ConversationUpdated::default()
    })
}

/// The version one later, by force.
pub(super) fn moved(version: Version) -> Version {
    Version(version.0 + 1)
}
