//! NATS is killed or frozen: `UNAVAILABLE` with a retry delay, within the deadline; afterwards everything works without
//! a restart.

use std::time::{Duration, Instant};

use tests::agent::{Agent, Outcome};
use tests::errors::{check_failure, check_unavailable};
use tests::events::user;
use tests::eventually::eventually;
use tests::stack::{Setup, Stack};
use tonic::metadata::MetadataMap;
use tonic::{Code, Request, Status};
use uuid::Uuid;
use wire::proto::read::v1::GetConversationRequest;
use wire::proto::write::v1::AppendEventsRequest;

/// The server's timeout of unary calls, with a margin for a busy machine.
const ANSWER_WITHIN: Duration = Duration::from_secs(12);

fn append_with_key(agent: &Agent) -> AppendEventsRequest {
    let mut request = agent.append_request("c", vec![user("while away")]);
    if let Some(target) = &mut request.target {
        target.idempotency_key = Uuid::now_v7().to_string();
    }
    request
}

async fn check_time<T>(call: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let answer = call.await;
    assert!(started.elapsed() < ANSWER_WITHIN, "{:?}", started.elapsed());
    answer
}

async fn check_outage(agent: &Agent, request: &AppendEventsRequest) {
    let appended = check_time(agent.try_append(request.clone())).await;
    check_unavailable("append", appended, "RECORD_UNAVAILABLE");
    let created = check_time(agent.try_create(agent.create_request(""))).await;
    check_unavailable("create", created, "RECORD_UNAVAILABLE");
    let target = agent.read_target("c");
    let got = check_time(agent.try_get(target.clone())).await;
    check_unavailable("get", got, "RECORD_UNAVAILABLE");
    let context = check_time(agent.try_context(target, 5)).await;
    check_unavailable("context", context, "RECORD_UNAVAILABLE");
    let events = check_time(agent.try_events(agent.list_request("c"))).await;
    check_unavailable("events", events, "RECORD_UNAVAILABLE");
    // Reads of rows need no record.
    let eventual = agent.try_get(agent.eventual_target("c")).await.expect("the rows");
    assert_eq!(eventual.conversation.expect("a conversation").version, 2);
}

/// Retries the same request with the same key until it is answered; it is committed once.
async fn check_recovery(agent: &Agent, request: &AppendEventsRequest) {
    let outcome: Outcome = eventually("an answered retry", || async {
        match agent.try_append(request.clone()).await {
            Err(status) if status.code() == Code::Unavailable => None,
            outcome => Some(outcome),
        }
    })
    .await;
    assert_eq!(outcome.expect("a commit").version, 3);
    eventually("a fresh read", || async {
        let answer = agent.try_get(agent.read_target("c")).await.ok()?;
        (answer.conversation?.version == 3).then_some(())
    })
    .await;
    agent.wait_for_rows("c", 3).await;
}

async fn setup() -> (Stack, Agent) {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![user("before")]).await;
    agent.wait_for_rows("c", 2).await;
    (stack, agent)
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_and_restarted() {
    let (mut stack, agent) = setup().await;
    let request = append_with_key(&agent);
    stack.servers.nats_mut().kill();
    check_outage(&agent, &request).await;
    stack.servers.nats_mut().restart().await.expect("nats-server");
    check_recovery(&agent, &request).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_and_resumed() {
    let (mut stack, agent) = setup().await;
    let request = append_with_key(&agent);
    stack.servers.nats_mut().pause();
    check_outage(&agent, &request).await;
    stack.servers.nats_mut().resume();
    check_recovery(&agent, &request).await;
}

const DEADLINE: Duration = Duration::from_millis(500);

/// The server's answer to a call with [`DEADLINE`]. If the client library's own timeout is first, the call is repeated.
async fn in_time<T>(call: impl AsyncFn(&dyn Fn(&mut MetadataMap)) -> Result<T, Status>) -> Result<T, Status> {
    let set_deadline = |metadata: &mut MetadataMap| {
        let timeout = format!("{}m", DEADLINE.as_millis());
        metadata.insert("grpc-timeout", timeout.parse().expect("a header's value"));
    };
    eventually("the server's own word", || async {
        let started = Instant::now();
        let outcome = call(&set_deadline).await;
        assert!(started.elapsed() < DEADLINE * 4, "{:?}", started.elapsed());
        match outcome {
            Err(status) if status.code() == Code::Cancelled => None,
            outcome => Some(outcome),
        }
    })
    .await
}

/// A call with a shorter deadline than the server's timeouts is answered in time.
#[tokio::test(flavor = "multi_thread")]
async fn expired_deadlines() {
    let (mut stack, agent) = setup().await;
    stack.servers.nats_mut().pause();
    let appended = in_time(async |set_deadline| {
        let mut request = Request::new(append_with_key(&agent));
        set_deadline(request.metadata_mut());
        agent.caller().write().append_events(request).await
    });
    check_failure("append", appended.await, (Code::DeadlineExceeded, "", ""));
    let got = in_time(async |set_deadline| {
        let target = Some(agent.read_target("c"));
        let mut request = Request::new(GetConversationRequest { target });
        set_deadline(request.metadata_mut());
        agent.caller().read().get_conversation(request).await
    });
    check_unavailable("get", got.await, "RECORD_UNAVAILABLE");
    stack.servers.nats_mut().resume();
    let fresh = || async { agent.try_get(agent.read_target("c")).await.ok() };
    eventually("a read in time", fresh).await;
}
