//! Races: concurrent gateways, interrupted rounds, and new events during a round.

use std::time::Duration;

use domain::Status;
use gateway::retention::{Limits, ResumePoints, round};
use runtime::clock::Clock;
use tokio::time::timeout;

use crate::stack::{LATE, Stack, eventually, rules};

/// Conversations to erase, and conversations to archive.
async fn expired(stack: &Stack, count: i64) -> (Vec<String>, Vec<String>) {
    stack.agent("idle", rules(0, 0, 1)).await;
    stack.agent("brief", rules(1, 0, 0)).await;
    let idle = stack.create_many("idle", "i", count).await;
    let brief = stack.create_many("brief", "b", count).await;
    for id in &brief {
        stack.say("brief", id, 2).await;
    }
    stack.clock.set(LATE);
    (idle, brief)
}

async fn check_changed(stack: &Stack, idle: &[String], brief: &[String]) {
    assert_eq!(stack.erased(idle).await, idle);
    for id in brief {
        let head = stack.head(id).await;
        assert_eq!((head.status, head.version.0), (Status::Archived, 5), "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_gateways_make_each_change_once() {
    let stack = Stack::start().await;
    let (idle, brief) = expired(&stack, 40).await;
    let (one, other) = tokio::join!(stack.round(), stack.round());
    assert_eq!((one.failed, other.failed), (0, 0));
    assert_eq!(one.changed + other.changed, 80);
    check_changed(&stack, &idle, &brief).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_gateway_completes_an_interrupted_round() {
    let stack = Stack::start().await;
    let (idle, brief) = expired(&stack, 30).await;
    // Each round is interrupted after a different time and loses its state.
    for timeout_ms in (5..400).step_by(23) {
        let cut = timeout(Duration::from_millis(timeout_ms), stack.round()).await;
        if cut.is_ok_and(|tally| tally.changed == 0) {
            break;
        }
    }
    stack.round().await;
    assert_eq!(stack.round().await.changed, 0);
    check_changed(&stack, &idle, &brief).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_with_new_events_are_kept() {
    let stack = Stack::start().await;
    stack.agent("idle", rules(0, 0, 3_600)).await;
    let ids = stack.create_many("idle", "i", 12).await;
    stack.clock.set(Clock::System.now_nanos());
    let limits = Limits { changes_at_once: 1, change_every: Duration::from_millis(300), ..stack.limits };
    let deps = stack.deps.clone();
    let under_way = tokio::spawn(async move { round(&deps, &limits, &mut ResumePoints::default()).await });
    eventually("the first one erased", || async { (!stack.erased(&ids[..1]).await.is_empty()).then_some(()) }).await;
    let late = &ids[9..];
    for id in late {
        stack.say("idle", id, 1).await;
    }
    let tally = under_way.await.unwrap().unwrap();
    assert_eq!((tally.changed, tally.settled, tally.failed), (9, 3, 0));
    assert!(stack.erased(late).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_is_forked_during_the_round_stays() {
    let mut stack = Stack::start().await;
    // Slow changes: the page is read long before the last conversation of it is changed.
    stack.limits.changes_at_once = 1;
    stack.limits.change_every = Duration::from_millis(400);
    stack.agent("idle", rules(0, 0, 1)).await;
    let ids = stack.create_many("idle", "i", 4).await;
    stack.clock.set(LATE);
    let forking = async {
        eventually("the first erasure", || async { (!stack.erased(&ids).await.is_empty()).then_some(()) }).await;
        let late = domain::Timestamp(i64::MAX - 1);
        stack.fork("idle", "fork", &ids[3], late).await;
    };
    let (tally, ()) = tokio::join!(stack.round(), forking);
    // The round skips the parent. It may have checked the fork too.
    assert_eq!((tally.settled, tally.failed), (1, 0));
    assert_eq!(stack.erased(&ids).await, ids[..3]);
}
