//! Retries after a minute or a month: keys outside of the stream's duplicate window are found in the rows, and, with
//! the projector stopped, in the tail.

use std::time::{SystemTime, UNIX_EPOCH};

use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events::{call, result, user};
use tests::stack::{Setup, Stack};
use tonic::Code::{FailedPrecondition, InvalidArgument};
use uuid::{NoContext, Timestamp, Uuid};
use wire::proto::event::v1::Event;
use wire::proto::write::v1 as proto;
use writer::key_age::CLOCK_LEEWAY;

use super::{check_replayed, with};

/// The number of commits that push an earlier one out of the head's list of the latest eight.
const MANY: usize = 9;

/// Keys with an old time or without one: `(name, key)`.
fn old_keys() -> [(&'static str, String); 3] {
    let month_old = Uuid::new_v7(Timestamp::from_unix(NoContext, 1_700_000_000, 0));
    [
        ("UUIDv7 of long ago", month_old.to_string()),
        ("UUIDv4", Uuid::new_v4().to_string()),
        ("UUIDv5", Uuid::new_v5(&Uuid::NAMESPACE_OID, Uuid::new_v4().as_bytes()).to_string()),
    ]
}

struct RetryCase {
    case: String,
    request: proto::AppendEventsRequest,
    first: proto::CommitResult,
}

async fn append_under(agent: &Agent, case: &str, key: String, event: Event) -> RetryCase {
    let target = with(agent.target("c"), |target| target.idempotency_key = key);
    let request = proto::AppendEventsRequest {
        target: Some(target),
        events: vec![event],
        ..proto::AppendEventsRequest::default()
    };
    let first = agent.try_append(request.clone()).await.expect("a commit");
    RetryCase { case: case.to_owned(), request, first }
}

/// Retries each commit, unchanged and with another text.
async fn check(agent: &Agent, phase: &str, retried: &[RetryCase]) {
    let version = agent.version("c").await;
    for RetryCase { case, request, first } in retried {
        let case = format!("{case}, {phase}");
        let again = agent.try_append(request.clone()).await.unwrap_or_else(|status| panic!("{case}: {status:?}"));
        check_replayed(&case, &again, first);
        let other = with(request.clone(), |request| {
            request.events = vec![user("other")];
        });
        let outcome = agent.try_append(other).await;
        let reused = (FailedPrecondition, "IDEMPOTENCY_KEY_REUSED", "target.idempotency_key");
        check_failure(&case, outcome, reused);
    }
    assert_eq!(agent.version("c").await, version, "{phase}");
}

async fn append_many(agent: &Agent) -> u64 {
    let mut version = 0;
    for _ in 0..MANY {
        version = agent.append("c", vec![user("later")]).await.version;
    }
    version
}

#[tokio::test(flavor = "multi_thread")]
async fn old_keys_are_found_in_rows_and_tail() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![call("1", "{}"), call("2", "{}")]).await;
    let mut retried = Vec::new();
    for (case, key) in old_keys() {
        retried.push(append_under(&agent, case, key, user(case)).await);
    }
    let key = Uuid::new_v4().to_string();
    retried.push(append_under(&agent, "a result", key, result("1", "1")).await);
    check(&agent, "in the head", &retried).await;
    let version = append_many(&agent).await;
    agent.wait_for_rows("c", version).await;
    check(&agent, "in the rows", &retried).await;

    stack.projector.stop().await;
    for (case, key) in old_keys() {
        retried.push(append_under(&agent, case, key, user(case)).await);
    }
    let key = Uuid::new_v4().to_string();
    retried.push(append_under(&agent, "another result", key, result("2", "2")).await);
    append_many(&agent).await;
    check(&agent, "in the tail", &retried).await;
    stack.writer.stop().await;
    stack.writer.start().await;
    check(&agent, "in the tail, by a new writer", &retried).await;

    stack.projector.start().await;
    agent.wait_for_rows("c", agent.version("c").await).await;
    check(&agent, "in the rows, at last", &retried).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unused_old_keys_are_new_commands() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    append_many(&agent).await;
    for (case, key) in old_keys() {
        let before = agent.version("c").await;
        let new = append_under(&agent, case, key.clone(), user("x")).await.first;
        assert_eq!((new.version, new.replayed), (before + 1, false), "{case}");
        assert_eq!(new.commit_id, key, "{case}");
    }
}

/// A key may be dated into the future by the tolerated clock difference; a later one could be committed again after the
/// stream has forgotten it.
#[tokio::test(flavor = "multi_thread")]
async fn future_keys_are_rejected() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let ahead = |seconds: u64| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let time = Timestamp::from_unix(NoContext, now.as_secs() + seconds, 0);
        Uuid::new_v7(time).to_string()
    };
    let leeway = CLOCK_LEEWAY.as_secs();
    let taken = append_under(&agent, "within", ahead(leeway - 5), user("x")).await;
    assert!(!taken.first.replayed);
    let target = with(agent.target("c"), |target| {
        target.idempotency_key = ahead(leeway + 5);
    });
    let request = proto::AppendEventsRequest {
        target: Some(target),
        events: vec![user("x")],
        ..proto::AppendEventsRequest::default()
    };
    let refused = (InvalidArgument, "IDEMPOTENCY_KEY_IN_FUTURE", "target.idempotency_key");
    check_failure("beyond", agent.try_append(request).await, refused);
    assert_eq!(agent.version("c").await, taken.first.version);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_under_an_old_key() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    for (case, key) in old_keys() {
        let request = with(agent.create_request(""), |request| {
            request.idempotency_key = key;
        });
        let first = agent.try_create(request.clone()).await.expect("a conversation");
        let again = agent.try_create(request.clone()).await.expect("the first answer");
        check_replayed(case, &again, &first);
        let id = &first.conversation_id;
        for _ in 0..MANY {
            agent.append(id, vec![user("later")]).await;
        }
        let again = agent.try_create(request).await.expect("the first answer");
        check_replayed(case, &again, &first);
        assert_eq!(agent.version(id).await, 10, "{case}");
    }
}

/// The key's case and braces do not matter.
#[tokio::test(flavor = "multi_thread")]
async fn commit_ids_are_normalised_keys() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let key = Uuid::new_v4();
    let braced = key.braced().to_string().to_uppercase();
    let first = append_under(&agent, "braced", braced, user("x")).await.first;
    assert_eq!(first.commit_id, key.to_string());
    let events = agent.events(agent.list_request("c")).await;
    assert_eq!(events[1].commit_id, key.to_string());
}
