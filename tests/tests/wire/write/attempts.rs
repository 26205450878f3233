//! Attempts of requests without an idempotency key, the expected owner of an append, and first events of a conversation.

use futures::future::join_all;
use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events::{result, session, user};
use tests::stack::Stack;
use tonic::Code::{Aborted, FailedPrecondition, InvalidArgument};
use uuid::Uuid;
use wire::proto::write::v1 as proto;

use super::{Command, with};

/// An attempt of the request with this number.
fn attempt(agent: &Agent, request: u8, is_retry: bool) -> proto::AppendEventsRequest {
    with(agent.append_request("c", vec![user(request.to_string())]), |append| {
        append.attempt = Some(proto::Attempt { request_hash: vec![request; 32].into(), is_retry });
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_and_overlapping_attempts_are_recorded_once() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let send = async |request| Command::Append(request).send(&agent).await;
    let first = send(attempt(&agent, 1, false)).await.expect("recorded");
    let second = send(attempt(&agent, 1, false)).await.expect("recorded");
    assert_eq!((second.version, second.replayed), (first.version + 1, false));
    let retried = send(attempt(&agent, 1, true)).await.expect("replayed");
    assert_eq!((&retried.commit_id, retried.replayed), (&second.commit_id, true));
    let others = send(attempt(&agent, 2, true)).await.expect("recorded");
    assert!(!others.replayed);
    let mut conflicts = 0;
    for round in 0..10 {
        let before = agent.version("c").await;
        let requests = (0..6).map(|n| attempt(&agent, 10 + round * 2 + n % 2, false));
        let answers = join_all(requests.map(send)).await;
        let mut commits = Vec::new();
        for answer in answers {
            match answer {
                Ok(result) => commits.push(result.commit_id),
                Err(status) => {
                    let expected = (Aborted, "VERSION_CONFLICT", "");
                    check_failure("overlapping", Err::<(), _>(status), expected);
                    conflicts += 1;
                }
            }
        }
        commits.sort();
        commits.dedup();
        let recorded = agent.version("c").await - before;
        assert_eq!(u64::try_from(commits.len()), Ok(recorded));
    }
    assert!(conflicts > 0, "no attempts overlapped");
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_and_owners_are_checked() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let check = async |case, request, expected| {
        check_failure(case, Command::Append(request).send(&agent).await, expected);
    };
    let short = with(attempt(&agent, 1, false), |append| {
        append.attempt = Some(proto::Attempt::default());
    });
    let field = "attempt.request_hash";
    check("no hash", short, (InvalidArgument, "FIELD_MALFORMED", field)).await;
    let keyed = with(attempt(&agent, 1, false), |append| {
        let target = append.target.get_or_insert_default();
        target.idempotency_key = Uuid::now_v7().to_string();
    });
    let malformed = (InvalidArgument, "FIELD_MALFORMED", "attempt");
    check("a key too", keyed, malformed).await;
    let of = |owner: &str, is_retry| {
        with(attempt(&agent, 1, is_retry), |append| {
            append.expected_owner = Some(session(owner));
        })
    };
    let mismatch = (FailedPrecondition, "OWNER_MISMATCH", "");
    check("another owner", of("other", false), mismatch).await;
    let own = Command::Append(of("s", false)).send(&agent).await;
    assert_eq!(own.expect("recorded").version, 2);
    // The answer to a retry is for the owner only.
    check("a retry of another owner", of("other", true), mismatch).await;
    let own = Command::Append(of("s", true)).send(&agent).await;
    assert!(own.expect("replayed").replayed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_and_its_first_events_are_one_commit() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let create = |id: &str, events: Vec<_>| with(agent.create_request(id), |create| create.events = events);
    let many = |count| vec![user("x"); count];
    let created = Command::Create(create("c", many(499))).send(&agent).await.expect("created");
    assert_eq!((created.first_version, created.version), (1, 500));
    let too_many = Command::Create(create("d", many(500))).send(&agent).await;
    let expected = (InvalidArgument, "TOO_MANY_EVENTS", "events");
    check_failure("one event too many", too_many, expected);
    let closed = Command::Create(create("d", vec![user("x"), result("a", "1")]));
    let expected = (FailedPrecondition, "TOOL_CALL_NOT_OPEN", "events[1].tool_returned.call_id");
    check_failure("a result without a call", closed.send(&agent).await, expected);
    // Nothing was created.
    agent.create("d").await;
    let conversation = agent.conversation("c").await;
    assert_eq!(conversation.version, 500);
}
