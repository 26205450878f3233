//! The limits of a round; the next round continues where it ended.

use gateway::retention::{FAILURES_MAX, Limits, ResumePoints, RoundError, Tally};
use registry::Scope;

use crate::callers::session;
use crate::stack::{LATE, START, Stack, TENANT, rules, token};

#[tokio::test(flavor = "multi_thread")]
async fn every_agent_is_processed() {
    let mut stack = Stack::start().await;
    stack.limits.changes_max = 5;
    let mut ids = Vec::new();
    for agent in ["a", "b", "c"] {
        stack.agent(agent, rules(0, 0, 1)).await;
        ids.extend(stack.create_many(agent, agent, 4).await);
    }
    stack.clock.set(LATE);
    let mut resume_points = ResumePoints::default();
    for (changed, left_over, erased) in [(5, 2, 5), (5, 2, 10), (2, 0, 12), (0, 0, 12)] {
        let expected = Tally { agents: 3, changed, left_over, ..Tally::default() };
        assert_eq!(stack.round_from(&mut resume_points).await.unwrap(), expected);
        assert_eq!(stack.erased(&ids).await, ids[..erased]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_with_many_conversations_gets_down_to_the_limit() {
    let mut stack = Stack::start().await;
    stack.limits.changes_max = 25;
    stack.agent("one", rules(0, 1, 0)).await;
    let mut ids = Vec::new();
    for n in 0..48 {
        let id = format!("c{n:02}");
        let at = domain::Timestamp(START.0 + n);
        stack.create("one", &id, session("s"), at).await;
        ids.push(id);
    }
    let mut resume_points = ResumePoints::default();
    let mut changed = 0;
    for _ in 0..6 {
        changed += stack.round_from(&mut resume_points).await.unwrap().changed;
    }
    assert_eq!(changed, 47);
    assert_eq!(stack.erased(&ids).await, ids[..47]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_ends_early_without_a_writer_or_a_valid_token() {
    let mut stack = Stack::start().await;
    stack.agent("a", rules(0, 0, 1)).await;
    let ids = stack.create_many("a", "a", 30).await;
    stack.clock.set(LATE);
    let registry = stack.deps.registry.clone();
    let valid = stack.deps.token.clone();
    for scopes in [&[Scope::Append, Scope::Read][..], &[Scope::Erase, Scope::Append], &[Scope::Erase], &[]] {
        stack.set_token(token(&registry, scopes, Some(TENANT)).await);
        let refused = stack.round_from(&mut ResumePoints::default()).await;
        assert!(matches!(refused, Err(RoundError::Refused)), "{scopes:?}");
    }
    stack.set_token(runtime::config::Secret::default());
    let refused = stack.round_from(&mut ResumePoints::default()).await;
    assert!(matches!(refused, Err(RoundError::Refused)));
    stack.set_token(valid);
    stack.projected().await;
    stack.stop_writer().await;
    stack.limits = Limits { changes_at_once: 1, ..stack.limits };
    let expected = Tally { agents: 1, failed: FAILURES_MAX, left_over: 1, ..Tally::default() };
    assert_eq!(stack.round().await, expected);
    assert!(stack.erased(&ids).await.is_empty());
}
