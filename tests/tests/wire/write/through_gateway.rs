//! The write service at the gateway's address: the writer executes the calls, under the caller's own token.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream::repeat;
use tests::agent::Agent;
use tests::client::Caller;
use tests::errors::{check_failure, check_unavailable};
use tests::events::user;
use tests::eventually::{eventually, within};
use tests::stack::{Setup, Stack};
use tokio_stream::iter;
use tonic::transport::Endpoint;
use tonic::{Code, Streaming};
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::append_stream_request::Command;
use wire::proto::write::v1::append_stream_response::Outcome;

/// Streams of one tenant. Their unread bytes would fill the windows of a connection that all callers share.
const DEAF_STREAMS: usize = 20;

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
    let stack = Stack::shared().await;
    let agent = by_gateway(stack).await;
    agent.create("c").await;
    agent.append("c", vec![user("hello")]).await;
    assert_eq!(agent.version("c").await, 2);
    let bad = agent.append_request("c", vec![]);
    let expected = (Code::InvalidArgument, "NO_EVENTS", "events");
    check_failure("no events", agent.try_append(bad).await, expected);
    let appends = (0..100).map(|correlation_id| proto::AppendStreamRequest {
        correlation_id,
        command: Some(Command::AppendEvents(agent.append_request("c", vec![user("more")]))),
    });
    let requests: Vec<_> = appends.collect();
    let answers: Vec<_> =
        agent.caller().write().append_stream(iter(requests)).await.expect("a stream").into_inner().collect().await;
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
    check_failure("no token", nobody.try_append(append()).await, unauthenticated);
    let forged = at_gateway(&stack, &agent, &agent.caller().with_token("hsk_forged"));
    check_failure("a forged token", forged.try_append(append()).await, unauthenticated);
    let other = stack.agent("other", "others-agent").await;
    let by_other = Agent::new(other.caller().with_writer(&stack.gateway.grpc_url()), agent.id());
    let at_writer = Agent::new(other.caller().clone(), agent.id());
    let (here, there) = (by_other.try_append(append()).await, at_writer.try_append(append()).await);
    let (here, there) = (here.expect_err("a refusal"), there.expect_err("a refusal"));
    assert_eq!((here.code(), here.message()), (there.code(), there.message()));
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
    eventually("an answer of the writer", || async { agent.try_append(append.clone()).await.ok() }).await;
}

/// Opens streams through the gateway and sends commands until nothing more is accepted; the answers are never read.
async fn deaf_streams(stack: &Stack, agent: &Agent) -> Vec<Streaming<proto::AppendStreamResponse>> {
    let endpoint = Endpoint::from_shared(stack.gateway.grpc_url()).expect("a URL");
    let opened = (0..DEAF_STREAMS).map(|_| async {
        // Without events each command gets an error at once.
        let command = Command::AppendEvents(agent.append_request("c", vec![]));
        let request = proto::AppendStreamRequest { correlation_id: 1, command: Some(command) };
        let sent = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&sent);
        let requests = repeat(request).inspect(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let channel = endpoint.clone().connect_lazy();
        let mut client = agent.caller().write_over(&channel);
        let stream = client.append_stream(requests).await;
        wait_until_stuck(&sent).await;
        stream.expect("a stream").into_inner()
    });
    join_all(opened).await
}

/// Waits until the number of sent commands stays the same.
async fn wait_until_stuck(sent: &AtomicU64) {
    let (last, equal) = (AtomicU64::new(0), AtomicU64::new(0));
    eventually("a stream that is stuck", || async {
        let now = sent.load(Ordering::Relaxed);
        if now > 0 && last.swap(now, Ordering::Relaxed) == now {
            equal.fetch_add(1, Ordering::Relaxed);
        } else {
            equal.store(0, Ordering::Relaxed);
        }
        (equal.load(Ordering::Relaxed) >= 20).then_some(())
    })
    .await;
}

/// A tenant whose streams are stuck holds back neither another tenant nor the gateway's own commands.
#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_not_read_hold_back_nobody_else() {
    let stack = Setup::tasks().start().await;
    let agent = by_gateway(&stack).await;
    agent.create("c").await;
    let _deaf = deaf_streams(&stack, &agent).await;
    let other = stack.agent("other", "others-agent").await;
    let other = Agent::new(other.caller().with_writer(&stack.gateway.grpc_url()), other.id());
    within("another tenant's command", other.create("o")).await;
    within("another tenant's command", other.append("o", vec![user("heard")])).await;
    let stream = Command::AppendEvents(other.append_request("o", vec![user("streamed")]));
    let request = proto::AppendStreamRequest { correlation_id: 1, command: Some(stream) };
    let streamed = async {
        let answers = other.caller().write().append_stream(iter([request])).await;
        answers.expect("a stream").into_inner().next().await
    };
    within("another tenant's stream", streamed).await.expect("an answer").expect("no failure of the stream");
    assert_eq!(other.version("o").await, 3);
}
