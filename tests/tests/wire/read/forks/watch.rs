//! Watching a fork: the history of its ancestors, its own, and then only its new events.

use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events::user;
use tests::stack::Setup;
use tonic::Code;

use super::super::watch_conversation::Watch;
use super::fork;

#[tokio::test(flavor = "multi_thread")]
async fn history_across_the_fork_then_live() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("parent").await;
    agent.append("parent", vec![user("2"), user("3"), user("4")]).await;
    agent.wait_for_rows("parent", 4).await;
    stack.projector.stop().await;
    agent.append("parent", vec![user("5"), user("6")]).await;
    fork(&agent, "fork", "parent", 5).await;
    fork(&agent, "further", "fork", 6).await;
    let mut watch = Watch::of(&agent, "further", 1).await;
    assert_eq!(watch.history().await, ((1..=7).collect::<Vec<u64>>(), 7));
    agent.append("parent", vec![user("not here")]).await;
    agent.append("further", vec![user("8"), user("9")]).await;
    assert_eq!(watch.live(2).await, [8, 9]);
    check_histories(&agent).await;
    stack.projector.start().await;
    agent.wait_for_rows("further", 9).await;
    check_histories(&agent).await;
}

async fn check_histories(agent: &Agent) {
    for from in 1..=10 {
        let mut watch = Watch::of(agent, "further", from).await;
        let history = watch.history().await;
        assert_eq!(history, ((from..=9).collect::<Vec<u64>>(), 9), "{from}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_end_with_the_parent() {
    let mut stack = Setup::tasks().prepare().await;
    stack.gateway.settings.gateway.watch_idle_check_ms = 100;
    stack.start().await;
    let agent = stack.any_agent().await;
    agent.create("parent").await;
    fork(&agent, "fork", "parent", 1).await;
    let mut watch = Watch::of(&agent, "fork", 1).await;
    assert_eq!(watch.history().await, (vec![1, 2], 2));
    agent.try_erase(agent.target("parent")).await.expect("erased");
    let expected = (Code::NotFound, "CONVERSATION_NOT_FOUND", "");
    check_failure("the end", watch.next().await, expected);
}
