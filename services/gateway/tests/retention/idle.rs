//! Idle and empty conversations are erased.

use domain::{Status, Timestamp};
use gateway::retention::Tally;
use registry::Scope;
use wire::proto::write::v1::ArchiveConversationRequest;

use crate::callers::{session, target, user};
use crate::stack::{SECOND, START, Stack, TENANT, rules, token};

const MICRO: i64 = 1_000;

#[tokio::test(flavor = "multi_thread")]
async fn conversations_beyond_the_idle_time_are_erased() {
    let stack = Stack::start().await;
    stack.agent("strict", rules(0, 0, 60)).await;
    stack.agent("lenient", rules(0, 0, 3_600)).await;
    stack.agent("free", rules(0, 0, 0)).await;
    let later = Timestamp(START.0 + MICRO);
    for (agent, id, at) in [
        ("strict", "first", START),
        ("strict", "second", later),
        ("lenient", "lenient-first", START),
        ("free", "free-first", START),
    ] {
        stack.create(agent, id, session("s"), at).await;
    }
    let all = ["first", "second", "lenient-first", "free-first"];
    for (after, changed, erased) in [
        (60 * SECOND, 0, &[][..]),
        (60 * SECOND + MICRO, 1, &["first"][..]),
        (60 * SECOND + 2 * MICRO, 1, &["first", "second"][..]),
        (3_600 * SECOND, 0, &["first", "second"][..]),
        (3_601 * SECOND, 1, &["first", "second", "lenient-first"][..]),
    ] {
        stack.clock.set(START.0 + after);
        let expected = Tally { agents: 2, changed, ..Tally::default() };
        assert_eq!(stack.round().await, expected, "{after}");
        assert_eq!(stack.erased(&all).await, erased, "{after}");
        // A second round changes nothing.
        let again = Tally { changed: 0, ..expected };
        assert_eq!(stack.round().await, again, "{after}");
    }
    // A tombstone is one event.
    assert_eq!(stack.head("first").await.version.0, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn archived_conversations_are_erased_and_a_removed_rule_has_no_effect() {
    let stack = Stack::start().await;
    stack.agent("strict", rules(0, 0, 60)).await;
    stack.create("strict", "c", session("s"), START).await;
    let request = ArchiveConversationRequest { target: Some(target("strict", "c")) };
    stack.writer().archive_conversation(request).await.unwrap();
    stack.clock.set(i64::MAX);
    stack.set_rules("strict", None).await;
    assert_eq!(stack.round().await, Tally::default());
    assert_eq!(stack.head("c").await.status, Status::Archived);
    stack.set_rules("strict", Some(rules(0, 0, 60))).await;
    assert_eq!(stack.round().await.changed, 1);
    assert_eq!(stack.head("c").await.status, Status::Erased);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_erased_after_its_forks() {
    let stack = Stack::start().await;
    stack.agent("strict", rules(0, 0, 60)).await;
    stack.create("strict", "root", session("s"), START).await;
    let later = Timestamp(START.0 + 100 * SECOND);
    stack.fork("strict", "fork", "root", later).await;
    for (after, erased) in [(150 * SECOND, &[][..]), (170 * SECOND, &["fork"]), (170 * SECOND, &["root", "fork"])] {
        stack.clock.set(START.0 + after);
        assert_eq!(stack.round().await.failed, 0);
        assert_eq!(stack.erased(&["root", "fork"]).await, erased, "{after}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_conversations_of_sessions_are_erased_after_a_day() {
    let mut stack = Stack::start().await;
    stack.agent("free", rules(0, 0, 0)).await;
    let all = ["empty", "of-user", "parent", "fork", "used"];
    for id in ["empty", "parent", "used"] {
        stack.create("free", id, session("s"), START).await;
    }
    stack.create("free", "of-user", user("ada"), START).await;
    stack.fork("free", "fork", "parent", START).await;
    stack.say("free", "used", 1).await;
    let recorded_at = stack.head("empty").await.recorded_at.0;
    let erasing = stack.deps.token.clone();
    stack.set_token(token(&stack.deps.registry.clone(), &[Scope::Append, Scope::Read], Some(TENANT)).await);
    stack.projected().await;
    let day = 24 * 60 * 60 * SECOND;
    // Without the scope, nothing is erased and no round fails.
    stack.clock.set(recorded_at + 2 * day);
    assert_eq!(stack.round().await, Tally::default());
    stack.set_token(erasing);
    for (after, erased) in [(day, &[][..]), (day + 1, &["empty"][..]), (10 * day, &["empty"][..])] {
        stack.clock.set(recorded_at + after);
        assert_eq!(stack.round().await.failed, 0, "{after}");
        assert_eq!(stack.erased(&all).await, erased, "{after}");
        stack.projected().await;
    }
}
