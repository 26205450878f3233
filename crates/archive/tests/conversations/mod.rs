//! Conversations of a record of one partition, and their messages.

use std::collections::BTreeSet;

use archive::segment::ArchivedMessage;
use domain::event::{ConversationCreated, SystemNoted};
use domain::{
    Actor, AgentId, ClientContext, CommitId, ConversationId, ConversationKey, Event, EventId, EventTokens, Fact, Head,
    Label, Owner, RequestDigest, Sequence, SessionId, TenantId, Timestamp,
};
use event_log::{Append, AppendOutcome, Record, TailBounds, TraceHeaders};
use uuid::Uuid;
use wire::commit::seal;

/// Creates a conversation with these notes after its first commit, and returns its messages.
pub(crate) async fn conversation(record: &Record, id: &str, notes: &[String]) -> Vec<ArchivedMessage> {
    let key = key(id);
    let mut last = append(record, &key, None, created()).await;
    for text in notes {
        last = append(record, &key, Some(last), note(text)).await;
    }
    let whole = TailBounds { bytes_max: 64 * 1024 * 1024, ..TailBounds::default() };
    let tail = record.timed_tail(&key, Sequence(0), whole);
    let commits = tail.await.unwrap().commits.into_iter();
    let archived =
        commits.map(|one| ArchivedMessage { key: key.clone(), message: one.message, stored_at: one.stored_at });
    archived.collect()
}

pub(crate) fn key(id: &str) -> ConversationKey {
    ConversationKey { tenant: TenantId::parse("acme").unwrap(), conversation: ConversationId::parse(id).unwrap() }
}

pub(crate) fn keys(id: &str) -> BTreeSet<ConversationKey> {
    [key(id)].into()
}

fn created() -> Fact {
    Fact::from(ConversationCreated {
        agent: AgentId::parse("support").unwrap(),
        owner: Owner::Session(SessionId::parse("s").unwrap()),
        title: None,
        metadata: None,
        client_context: ClientContext::default(),
        provider_conversation_id: None,
        forked_from: None,
    })
}

/// A note for a conversation.
pub(crate) fn note(text: &str) -> Fact {
    Fact::from(SystemNoted { topic: None, text: text.to_owned() })
}

async fn append(
    record: &Record,
    key: &ConversationKey,
    last: Option<(Head, Sequence)>,
    fact: Fact,
) -> (Head, Sequence) {
    let (append, head) = sealed(key, last, fact);
    let outcome = record.append(key, append).await.unwrap();
    let AppendOutcome::Committed { sequence } = outcome else {
        panic!("{outcome:?}");
    };
    (head, sequence)
}

/// A commit with a fact after the last one, and its head.
pub(crate) fn sealed(key: &ConversationKey, last: Option<(Head, Sequence)>, fact: Fact) -> (Append, Head) {
    let id = CommitId(Uuid::now_v7());
    let events = [Event {
        id: EventId::derived(id, 0),
        occurred_at: None,
        metadata: None,
        tokens: EventTokens::default(),
        fact,
    }];
    let draft = wire::commit::Draft {
        tenant: &key.tenant,
        conversation: &key.conversation,
        id,
        request_digest: RequestDigest([7; 16]),
        recorded_at: Timestamp(1),
        actor: &Actor(Label::parse("test").unwrap()),
        events: &events,
    };
    let sealed = seal(&draft, last.as_ref().map(|(head, at)| (head, *at))).unwrap();
    let append = Append {
        commit: id,
        message: sealed.message,
        expected: last.map(|(_, at)| at),
        hibernated_in: None,
        trace: TraceHeaders::default(),
    };
    (append, sealed.head)
}
