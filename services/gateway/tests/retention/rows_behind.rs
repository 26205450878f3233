//! With rows that are behind nothing is decided.

use std::time::Duration;

use gateway::retention::{ResumePoints, RoundError, Tally};

use crate::callers::session;
use crate::stack::{START, Stack, rules};

#[tokio::test(flavor = "multi_thread")]
async fn a_projector_that_stands_still_puts_rounds_off() {
    let mut stack = Stack::start().await;
    stack.agent("one", rules(0, 1, 0)).await;
    let later = domain::Timestamp(START.0 + 1_000);
    stack.create("one", "older", session("s"), START).await;
    stack.create("one", "newer", session("s"), later).await;
    stack.projected().await;
    stack.stop_projector().await;
    // As the rows have it, the session has two. It has one: the other is a user's by now.
    stack.claim("one", "newer", "u").await;
    let rows_wait = stack.limits.rows_wait;
    stack.limits.rows_wait = Duration::from_millis(300);
    let put_off = stack.round_from(&mut ResumePoints::default()).await;
    assert!(
        matches!(put_off, Err(RoundError::RowsBehind)),
        "{put_off:?}"
    );
    stack.limits.rows_wait = rows_wait;
    stack.start_projector().await;
    let nothing = Tally {
        agents: 1,
        ..Tally::default()
    };
    assert_eq!(stack.round().await, nothing);
    assert!(stack.erased(&["older", "newer"]).await.is_empty());
}
