//! Tokens: counted once, and stored with the events.

use tests::agent::Agent;
use tests::events::{call, note, result, summary, user};
use tests::stack::Stack;
use wire::proto::read::v1::{ListEventsRequest, ReadTarget};

/// The tokens of each event, and the sum up to it.
async fn weights(agent: &Agent, target: ReadTarget) -> Vec<(u32, u64)> {
    let request = ListEventsRequest { target: Some(target), ..ListEventsRequest::default() };
    let events = agent.events(request).await.into_iter();
    events.map(|recorded| recorded.event.expect("an event")).map(|event| (event.tokens, event.tokens_through)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_read_with_their_tokens() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let events = vec![user("hello world"), call("1", "{}"), result("1", "5")];
    agent.append("c", events).await;
    let events = vec![note("hello world"), summary(4, "hello world")];
    agent.append("c", events).await;
    // Counted on a separate thread.
    agent.append("c", vec![user("hello world ".repeat(10_000))]).await;
    let expected = [(0, 0), (14, 14), (50, 64), (65, 129), (0, 129), (34, 129), (20_013, 20_142)];
    assert_eq!(weights(&agent, agent.read_target("c")).await, expected);
    agent.wait_for_rows("c", 7).await;
    assert_eq!(weights(&agent, agent.eventual_target("c")).await, expected);
    let totals = agent.conversation("c").await.totals.unwrap_or_default();
    assert_eq!(totals.context_tokens, 20_142);
}

/// A commit that was decided again after another writer's commit continues its sum.
#[tokio::test(flavor = "multi_thread")]
async fn racing_appends_add_up() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let appends = (0..8).map(|_| agent.append("c", vec![user("hello world")]));
    futures::future::join_all(appends).await;
    let weights = weights(&agent, agent.read_target("c")).await;
    let sums: Vec<u64> = weights.iter().map(|(_, through)| *through).collect();
    let expected: Vec<u64> = (0..=8).map(|appended| appended * 14).collect();
    assert_eq!(sums, expected);
}
