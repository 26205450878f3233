use uuid::Uuid;

use super::*;
use crate::chain::ChainHash;
use crate::commit::Actor;
use crate::content::Part;
use crate::event::{ClientContext, ConversationCreated, Event, EventTokens, MessageAppended, Role};
use crate::id::{AgentId, CommitId, ConversationId, EventId, Label, SessionId, TenantId};
use crate::owner::Owner;
use crate::request_digest::RequestDigest;
use crate::time::Timestamp;

const BODY: &[u8] = b"body";

/// Four intact commits of one event each, at the sequences 10, 20, 30 and 40. The last one is the tombstone.
fn history() -> Vec<Commit> {
    let mut commits: Vec<Commit> = Vec::new();
    for (n, fact) in (1..).zip([created(), said("a"), said("b"), Fact::Lifecycle(Lifecycle::ConversationErased)]) {
        let events = vec![event(n, fact)];
        let previous = commits.last().map(|commit| &commit.head);
        let facts = CommitFacts {
            id: CommitId(Uuid::from_u128(n)),
            request_digest: RequestDigest([0; 16]),
            recorded_at: Timestamp(i64::try_from(n).unwrap()),
            events: &events,
            body: BODY,
            previous_sequence: commits.len().checked_sub(1).map(sequence),
        };
        let head = Head::after(previous, &facts).unwrap();
        commits.push(Commit {
            tenant: TenantId::parse("acme").unwrap(),
            conversation: ConversationId::parse("c").unwrap(),
            id: facts.id,
            first_version: head.version,
            recorded_at: facts.recorded_at,
            actor: Actor(Label::parse("tests").unwrap()),
            request_digest: facts.request_digest,
            head,
            events,
            stored_bytes: 0,
        });
    }
    commits
}

fn sequence(index: usize) -> Sequence {
    Sequence(u64::try_from(10 * (index + 1)).unwrap())
}

fn event(n: u128, fact: Fact) -> Event {
    Event {
        id: EventId::derived(CommitId(Uuid::from_u128(n)), 0),
        occurred_at: None,
        metadata: None,
        tokens: EventTokens::default(),
        fact,
    }
}

fn created() -> Fact {
    Fact::from(ConversationCreated {
        agent: AgentId::parse("helper").unwrap(),
        owner: Owner::Session(SessionId::parse("s1").unwrap()),
        title: None,
        metadata: None,
        client_context: ClientContext::default(),
        provider_conversation_id: None,
        forked_from: None,
    })
}

fn said(text: &str) -> Fact {
    let parts = vec![Part::Text(text.to_owned())];
    Fact::MessageAppended(MessageAppended::new(Role::User, parts))
}

/// Checks commit `index` of a history that `change` damages, after the commit `before`.
fn check((before, index): (Option<usize>, usize), change: impl FnOnce(&mut Commit), expected: &[Fault]) {
    let history = history();
    let mut commit = history[index].clone();
    change(&mut commit);
    let previous = before.map(|before| (&history[before].head, sequence(before)));
    assert_eq!(faults(previous, &commit, BODY), expected, "{index}");
}

#[test]
fn a_whole_history_has_no_fault() {
    check((None, 0), |_| (), &[]);
    for index in 1..4 {
        check((Some(index - 1), index), |_| (), &[]);
    }
    // Only the tombstone is left after an erasure.
    check((None, 3), |_| (), &[]);
}

#[test]
fn each_fault_has_its_name() {
    let missing = Fault::VersionsMissing(Version(2), Version(2));
    check((Some(0), 2), |_| (), &[missing]);
    check((None, 1), |_| (), &[Fault::BeginningMissing]);
    let again = Fault::VersionRepeated(Version(2));
    check((Some(1), 1), |_| (), &[Fault::IdRepeated, again]);
    check((Some(0), 1), |commit| commit.events.clear(), &[Fault::Empty]);
    let chain = |commit: &mut Commit| commit.head.chain = ChainHash([7; 32]);
    check((Some(0), 1), chain, &[Fault::Chain]);
    check((None, 0), chain, &[Fault::Chain]);
    let head = |commit: &mut Commit| {
        commit.head.totals.commits += 1;
        commit.head.recent.clear();
    };
    check((Some(1), 2), head, &[Fault::Head(vec!["totals", "recent"])]);
    let earlier = |commit: &mut Commit| {
        commit.recorded_at = Timestamp(0);
        commit.head.recorded_at = Timestamp(0);
    };
    let recent = Fault::Head(vec!["last_event_at", "recent"]);
    check((Some(0), 1), earlier, &[Fault::TimeGoesBack, recent]);
    let later = |commit: &mut Commit| commit.first_version = Version(2);
    check((None, 0), later, &[Fault::Head(vec!["version"])]);
}

#[test]
fn each_fault_has_a_stable_name_and_a_description() {
    for (fault, kind, text) in [
        (Fault::VersionsMissing(Version(2), Version(4)), "versions_missing", "versions 2 to 4 are missing"),
        (Fault::VersionRepeated(Version(3)), "version_repeated", "version 3 exists twice"),
        (Fault::BeginningMissing, "beginning_missing", "the commits before it are missing"),
        (Fault::Empty, "commit_empty", "it has no events"),
        (Fault::Chain, "chain_broken", "its chain is broken"),
        (Fault::Head(vec!["version", "status"]), "head_wrong", "its head is wrong in version, status"),
        (Fault::IdRepeated, "commit_id_repeated", "another commit has its id"),
        (Fault::TimeGoesBack, "time_goes_back", "it was recorded before the previous commit"),
    ] {
        assert_eq!((fault.kind(), fault.to_string().as_str()), (kind, text));
    }
}

#[test]
fn the_first_commit_creates_the_conversation_or_is_a_tombstone() {
    let [first, second, _, tombstone] = <[Commit; 4]>::try_from(history()).unwrap();
    let erased_without_event = Commit { head: tombstone.head.clone(), ..second.clone() };
    let event_without_status = Commit { head: second.head.clone(), ..tombstone.clone() };
    for (commit, expected) in [
        (first, vec![]),
        (tombstone, vec![]),
        (second, vec![Fault::BeginningMissing]),
        (erased_without_event, vec![Fault::BeginningMissing]),
        (event_without_status, vec![Fault::BeginningMissing]),
    ] {
        assert_eq!(faults(None, &commit, BODY), expected, "{:?}", commit.events);
    }
}

#[test]
fn the_first_commit_may_have_several_events() {
    let events = vec![event(1, created()), event(1, said("a"))];
    let first = history().swap_remove(0);
    let head = Head::after(None, &facts(&Commit { events: events.clone(), ..first.clone() }, BODY, None)).unwrap();
    let commit = Commit { head, events, ..first };
    assert_eq!(faults(None, &commit, BODY), []);
    let late = Commit { first_version: Version(2), ..commit };
    assert_eq!(faults(None, &late, BODY), [Fault::Head(vec!["version"])]);
}
