//! The write service at the gateway's address: the writer executes the calls, under the caller's own token.

use futures::StreamExt as _;
use tests::agent::Agent;
use tests::client::Caller;
use tests::errors::{check_failure, check_unavailable};
use tests::events::user;
use tests::eventually::eventually;
use tests::stack::{Setup, Stack};
use tokio_stream::iter;
use tonic::Code;
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::append_stream_request::Command;
use wire::proto::write::v1::append_stream_response::Outcome;

/// The same caller, for whom the gateway is the writer.
async fn by_gateway(stack: &Stack) -> Agent {
    let agent = stack.any_agent().await;
    at_gateway(stack, &agent, agent.caller())
}

fn at_gateway(stack: &Stack, agent: &Agent, caller: &Caller) -> Agent {
    Agent::new(caller.with_writer(&stack.gateway.grpc_url()), agent.id())
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_and_their_errors() {
    let stack = Setup::tasks().start().await;
    let agent = by_gateway(&stack).await;
    agent.create("c").await;
    agent.append("c", vec![user("hello")]).await;
    assert_eq!(agent.version("c").await, 2);
    let bad = agent.append_request("c", vec![]);
    let expected = (Code::InvalidArgument, "NO_EVENTS", "events");
    check_failure("no events", agent.try_append(bad).await, expected);
    let appends = (0..100).map(|correlation_id| proto::AppendStreamRequest {
        correlation_id,
        command: Some(Command::AppendEvents(
            agent.append_request("c", vec![user("more")]),
        )),
    });
    let requests: Vec<_> = appends.collect();
    let answers = agent.caller().write().append_stream(iter(requests)).await;
    let answers: Vec<_> = answers.expect("a stream").into_inner().collect().await;
    assert_eq!(answers.len(), 100);
    for answer in answers {
        let outcome = answer.expect("an answer").outcome;
        assert!(matches!(outcome, Some(Outcome::Result(_))), "{outcome:?}");
    }
    assert_eq!(agent.version("c").await, 102);
}

/// The gateway adds no right of its own.
#[tokio::test(flavor = "multi_thread")]
async fn strangers_and_other_tenants_write_nothing() {
    let stack = Setup::tasks().start().await;
    let agent = by_gateway(&stack).await;
    agent.create("c").await;
    let append = || agent.append_request("c", vec![user("forged")]);
    let nobody = at_gateway(&stack, &agent, &agent.caller().without_token());
    let unauthenticated = (Code::Unauthenticated, "UNAUTHENTICATED", "");
    check_failure(
        "no token",
        nobody.try_append(append()).await,
        unauthenticated,
    );
    let forged = at_gateway(&stack, &agent, &agent.caller().with_token("hsk_forged"));
    check_failure(
        "a forged token",
        forged.try_append(append()).await,
        unauthenticated,
    );
    let other = stack.agent("other", "others-agent").await;
    let by_other = Agent::new(
        other.caller().with_writer(&stack.gateway.grpc_url()),
        agent.id(),
    );
    let at_writer = Agent::new(other.caller().clone(), agent.id());
    let (here, there) = (
        by_other.try_append(append()).await,
        at_writer.try_append(append()).await,
    );
    let (here, there) = (here.expect_err("a refusal"), there.expect_err("a refusal"));
    assert_eq!(
        (here.code(), here.message()),
        (there.code(), there.message())
    );
    assert_eq!(agent.version("c").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_writer_is_unavailable() {
    let mut stack = Setup::tasks().start().await;
    let agent = by_gateway(&stack).await;
    agent.create("c").await;
    stack.writer.stop().await;
    let append = agent.append_request("c", vec![user("later")]);
    let rejected = agent.try_append(append.clone()).await;
    check_unavailable("no writer", rejected, "RECORD_UNAVAILABLE");
    stack.writer.start().await;
    eventually("an answer of the writer", || async {
        agent.try_append(append.clone()).await.ok()
    })
    .await;
}
