//! A round is postponed while the rows are behind.

use std::time::Duration;

use gateway::retention::{ResumePoints, RoundError, Tally};

use crate::callers::session;
use crate::stack::{START, Stack, rules};

#[tokio::test(flavor = "multi_thread")]
async fn rounds_are_postponed_without_a_projector() {
    let mut stack = Stack::start().await;
    stack.agent("one", rules(0, 1, 0)).await;
    let later = domain::Timestamp(START.0 + 1_000);
    stack.create("one", "older", session("s"), START).await;
    stack.create("one", "newer", session("s"), later).await;
    stack.projected().await;
    stack.stop_projector().await;
    // In the rows the session has two conversations. In the record it has one: a user has claimed the other.
    stack.claim("one", "newer", "u").await;
    let rows_wait = stack.limits.rows_wait;
    stack.limits.rows_wait = Duration::from_millis(300);
    let result = stack.round_from(&mut ResumePoints::default()).await;
    assert!(matches!(result, Err(RoundError::RowsBehind)), "{result:?}");
    stack.limits.rows_wait = rows_wait;
    stack.start_projector().await;
    let expected = Tally { agents: 1, ..Tally::default() };
    assert_eq!(stack.round().await, expected);
    assert!(stack.erased(&["older", "newer"]).await.is_empty());
}
