//! Expired documents are deleted, and take nothing from the rules.

use domain::{Head, Timestamp};
use gateway::retention::{ResumePoints, Tally};
use runtime::clock::Clock;
use wire::proto::event::v1 as event;
use wire::proto::write::v1 as proto;

use crate::callers::{session, target, user};
use crate::stack::{SECOND, START, Stack, rules};

/// A hundred years.
const IDLE_SECONDS: u64 = 3_153_600_000;

/// A value that is read for one second.
fn put(key: &str, at: Timestamp) -> event::Event {
    event::Event {
        occurred_at: Some(wire::time::to_proto(at)),
        fact: Some(event::event::Fact::DocumentPut(event::DocumentPut {
            namespace: vec!["n".to_owned()],
            key: key.to_owned(),
            value_json: "1".to_owned(),
            ttl_seconds: 1,
        })),
        ..event::Event::default()
    }
}

/// Creates a conversation with documents that expire at once: one commit for each list of keys.
async fn create_with_documents(stack: &Stack, agent: &str, id: &str, commits: &[&[&str]]) {
    stack.create(agent, id, session(id), START).await;
    for keys in commits {
        let at = Timestamp(START.0 + SECOND);
        let request = proto::AppendEventsRequest {
            target: Some(target(agent, id)),
            events: keys.iter().map(|key| put(key, at)).collect(),
            ..proto::AppendEventsRequest::default()
        };
        stack.writer().append_events(request).await.unwrap();
    }
}

async fn archive(stack: &Stack, agent: &str, id: &str) {
    let request = proto::ArchiveConversationRequest { target: Some(target(agent, id)) };
    stack.writer().archive_conversation(request).await.unwrap();
}

async fn restore(stack: &Stack, agent: &str, id: &str) {
    let request = proto::RestoreConversationRequest { target: Some(target(agent, id)) };
    stack.writer().restore_conversation(request).await.unwrap();
}

/// The version and the number of commits.
fn size(head: &Head) -> (u64, u64) {
    (head.version.0, head.totals.commits)
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_archived_conversations_do_not_stop_the_rules() {
    let mut stack = Stack::start().await;
    stack.limits.changes_max = 2;
    stack.agent("kept", rules(0, 0, 0)).await;
    stack.agent("strict", rules(0, 0, 60)).await;
    for id in ["one", "other"] {
        create_with_documents(&stack, "kept", id, &[&["k"]]).await;
        archive(&stack, "kept", id).await;
    }
    stack.create("strict", "idle", session("s"), START).await;
    stack.projected().await;
    stack.clock.set(i64::MAX);
    let mut resume_points = ResumePoints::default();
    for _ in 0..3 {
        stack.round_from(&mut resume_points).await.unwrap();
    }
    assert_eq!(stack.erased(&["idle"]).await, ["idle"]);
    // A deletion is possible again after a restore.
    restore(&stack, "kept", "one").await;
    stack.projected().await;
    let tally = stack.round_from(&mut resume_points).await.unwrap();
    assert_eq!((tally.changed, tally.settled, tally.failed), (1, 0, 0));
    assert_eq!(size(&stack.head("one").await), (5, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_and_rules_have_budgets_of_their_own() {
    let mut stack = Stack::start().await;
    stack.limits.changes_max = 2;
    stack.agent("kept", rules(0, 0, 0)).await;
    stack.agent("strict", rules(0, 0, 60)).await;
    for id in ["one", "two", "three"] {
        create_with_documents(&stack, "kept", id, &[&["k"]]).await;
    }
    let idle = ["i0", "i1", "i2"];
    for (id, second) in idle.into_iter().zip(0..) {
        let at = Timestamp(START.0 + second * SECOND);
        stack.create("strict", id, user(id), at).await;
    }
    stack.projected().await;
    stack.clock.set(i64::MAX);
    let mut resume_points = ResumePoints::default();
    for (changed, left_over, erased) in [(4, 1, 2), (2, 0, 3), (0, 0, 3)] {
        let expected = Tally { agents: 1, changed, left_over, ..Tally::default() };
        let tally = stack.round_from(&mut resume_points).await.unwrap();
        assert_eq!(tally, expected);
        assert_eq!(stack.erased(&idle).await, idle[..erased]);
        stack.projected().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_a_conversation_are_deleted_by_one_commit() {
    let stack = Stack::start().await;
    stack.agent("kept", rules(0, 0, 0)).await;
    create_with_documents(&stack, "kept", "c", &[&["a", "b"], &["c"]]).await;
    stack.projected().await;
    stack.clock.set(i64::MAX);
    assert_eq!(stack.round().await.changed, 1);
    assert_eq!(size(&stack.head("c").await), (7, 4));
    stack.projected().await;
    assert_eq!(stack.round().await, Tally::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_is_no_activity() {
    let stack = Stack::start().await;
    stack.agent("bot", rules(0, 0, IDLE_SECONDS)).await;
    create_with_documents(&stack, "bot", "c", &[&["k"]]).await;
    stack.projected().await;
    let before = stack.head("c").await;
    assert_eq!(before.last_event_at, Timestamp(START.0 + SECOND));
    stack.clock.set(Clock::System.now_nanos() + 10 * SECOND);
    let expected = Tally { agents: 1, changed: 1, ..Tally::default() };
    assert_eq!(stack.round().await, expected);
    let after = stack.head("c").await;
    assert_eq!(size(&after), (3, 3));
    assert_eq!(after.last_event_at, before.last_event_at);
}
