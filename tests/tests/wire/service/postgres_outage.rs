//! Postgres is killed or frozen: appends continue, reads return `UNAVAILABLE` with a retry delay; afterwards everything
//! works without a restart.

use tests::agent::Agent;
use tests::errors::check_unavailable;
use tests::events::user;
use tests::eventually::eventually;
use tests::stack::{Setup, Stack};
use uuid::Uuid;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::list_conversations_request::Filter;

fn listing(agent: &Agent) -> proto::ListConversationsRequest {
    agent.conversations_request(Filter::WholeAgent(proto::WholeAgent {}))
}

async fn check_outage(agent: &Agent) {
    assert_eq!(agent.append("c", vec![user("goes on")]).await.version, 3);
    for target in [agent.read_target("c"), agent.eventual_target("c")] {
        let got = agent.try_get(target.clone()).await;
        check_unavailable("get", got, "READ_MODEL_UNAVAILABLE");
        let context = agent.try_context(target, 5).await;
        check_unavailable("context", context, "READ_MODEL_UNAVAILABLE");
    }
    let listed = agent.try_conversations(listing(agent)).await;
    check_unavailable("list", listed, "READ_MODEL_UNAVAILABLE");
    // Only a retry with an old key needs the read model, when the head does not list the key any more.
    for _ in 0..8 {
        agent.append("c", vec![user("goes on")]).await;
    }
    let mut old = agent.append_request("c", vec![user("old")]);
    if let Some(target) = &mut old.target {
        target.idempotency_key = Uuid::new_v4().to_string();
    }
    let outcome = agent.try_append(old).await;
    check_unavailable("an old key", outcome, "READ_MODEL_UNAVAILABLE");
    let mut new = agent.append_request("c", vec![user("new")]);
    if let Some(target) = &mut new.target {
        target.idempotency_key = Uuid::now_v7().to_string();
    }
    assert_eq!(agent.try_append(new).await.expect("a new key needs no rows").version, 12);
}

async fn check_recovery(agent: &Agent) {
    eventually("a fresh read", || async {
        let answer = agent.try_get(agent.read_target("c")).await.ok()?;
        (answer.conversation?.version == 12).then_some(())
    })
    .await;
    agent.wait_for_rows("c", 12).await;
    assert_eq!(agent.conversations(listing(agent)).await.len(), 1);
}

async fn setup() -> (Stack, Agent) {
    let stack = Setup::tasks().with_own_postgres().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![user("before")]).await;
    agent.wait_for_rows("c", 2).await;
    (stack, agent)
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_and_restarted() {
    let (mut stack, agent) = setup().await;
    stack.servers.postgres_mut().kill();
    check_outage(&agent).await;
    stack.servers.postgres_mut().restart().await.expect("Postgres");
    check_recovery(&agent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_and_resumed() {
    let (mut stack, agent) = setup().await;
    stack.servers.postgres_mut().pause();
    check_outage(&agent).await;
    stack.servers.postgres_mut().resume();
    check_recovery(&agent).await;
}

/// A writer starts without Postgres: only old keys need it.
#[tokio::test(flavor = "multi_thread")]
async fn writers_start_without_postgres() {
    let (mut stack, agent) = setup().await;
    stack.writer.stop().await;
    stack.servers.postgres_mut().kill();
    stack.writer.start().await;
    assert_eq!(agent.append("c", vec![user("goes on")]).await.version, 3);
}
