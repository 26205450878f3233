//! Limits of concurrent requests: requests above them are rejected at once, with a retry delay.

use futures::future::join_all;
use tests::agent::Agent;
use tests::errors::{Failure, check_failure};
use tests::events::user;
use tests::eventually::{eventually, within};
use tests::stack::Setup;
use tonic::Code;

/// The maximum number of waiting commands of one conversation, and the running one.
const QUEUE: usize = 512 + 1;

async fn append(agent: Agent) -> Result<(), Failure> {
    let appended = agent.try_append(agent.append_request("c", vec![user("x")])).await;
    appended.map(drop).map_err(Failure::from)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_queue_of_a_conversation() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    stack.servers.nats_mut().pause();
    let mut appends: Vec<_> = (0..QUEUE + 20).map(|_| tokio::spawn(append(agent.clone()))).collect();
    // The last ones are rejected while the others wait for the frozen record.
    eventually("refusals", || {
        let refused = appends.iter().filter(|append| append.is_finished()).count();
        std::future::ready((refused >= 20).then_some(()))
    })
    .await;
    stack.servers.nats_mut().resume();
    let mut overloaded = 0;
    for outcome in within("every answer", join_all(appends.drain(..))).await {
        let Err(failure) = outcome.expect("a caller") else {
            continue;
        };
        if failure.reason == "OVERLOADED" {
            assert_eq!(failure.code, Code::ResourceExhausted, "{failure:?}");
            overloaded += 1;
        }
        assert!(failure.retry_after.is_some(), "{failure:?}");
    }
    assert_eq!(overloaded, 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_and_streams_at_once() {
    let mut stack = Setup::tasks().prepare().await;
    stack.gateway.settings.gateway.grpc.streams_max = 2;
    stack.start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let watch = || async {
        let request = agent.watch_request("c", 0);
        agent.caller().read().watch_conversation(request).await
    };
    let one = watch().await.expect("a watch");
    let two = watch().await.expect("a watch");
    let refused = check_failure("a third", watch().await, (Code::ResourceExhausted, "OVERLOADED", ""));
    assert!(refused.retry_after.is_some(), "{refused:?}");
    drop(one);
    eventually("room again", || async { watch().await.ok() }).await;
    drop(two);
}

/// A message above the size limit is rejected before it is read.
#[tokio::test(flavor = "multi_thread")]
async fn the_size_of_a_message() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let events = vec![user("x".repeat(500_000)); 70];
    let refused = agent.try_append(agent.append_request("c", events)).await;
    check_failure("a large message", refused, (Code::OutOfRange, "", ""));
    assert_eq!(agent.version("c").await, 1);
}

/// Many concurrent small requests, as from one process of callers.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_calls_at_once_on_one_connection() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let create = |agent: Agent| async move { agent.try_create(agent.create_request("")).await };
    for round in 0..3 {
        let calls = (0..1_000).map(|_| tokio::spawn(create(agent.clone())));
        for outcome in within("every answer", join_all(calls)).await {
            let outcome = outcome.expect("a caller");
            outcome.unwrap_or_else(|status| panic!("round {round}: {status:?}"));
        }
    }
}
