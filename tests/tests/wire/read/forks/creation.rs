//! Creating a fork: valid fork points, owners, and the maximum depth.

use domain::bounds::FORK_DEPTH_MAX;
use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events::user;
use tests::stack::{Setup, Stack};
use tonic::Code;
use uuid::Uuid;

use super::{fork, fork_point_of, fork_request, try_fork};
use crate::write::with;

#[tokio::test(flavor = "multi_thread")]
async fn foreign_parents_look_missing() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let agent = operator.agent("acme", "support").await;
    let neighbour = operator.agent("acme", "sales").await;
    let foreign = operator.agent("globex", "globex-support").await;
    for other in [&neighbour, &foreign] {
        other.create(other.id()).await;
    }
    agent.create("mine").await;
    agent.append("mine", vec![user("2")]).await;
    agent.create("erased").await;
    agent.try_erase(agent.target("erased")).await.expect("erased");
    let cases = [("missing", 1), ("sales", 1), ("globex-support", 1), ("erased", 1), ("mine", 3), ("fork", 1)];
    let mut messages = Vec::new();
    for (parent, version) in cases {
        let expected = (Code::NotFound, "FORK_POINT_NOT_FOUND", "forked_from");
        let outcome = try_fork(&agent, "fork", parent, version).await;
        messages.push(check_failure(parent, outcome, expected).message);
    }
    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:?}");
    let bad = (Code::InvalidArgument, "FIELD_MISSING", "forked_from.version");
    check_failure("version 0", try_fork(&agent, "fork", "mine", 0).await, bad);
    assert_eq!(fork(&agent, "fork", "mine", 2).await.version, 3);
    let expected = (Code::AlreadyExists, "CONVERSATION_EXISTS", "");
    let again = try_fork(&agent, "fork", "missing", 2).await;
    check_failure("again", again, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_of_shared_versions_leave_from_the_ancestor() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("root").await;
    agent.append("root", vec![user("2"), user("3")]).await;
    fork(&agent, "one", "root", 2).await;
    agent.append("one", vec![user("4")]).await;
    fork(&agent, "two", "one", 4).await;
    let cases = [
        ("of-root", 2, ("root", 2, 1)),
        ("of-root-too", 1, ("root", 1, 1)),
        ("of-one", 3, ("one", 3, 2)),
        ("of-one-too", 4, ("one", 4, 2)),
        ("of-two", 5, ("two", 5, 3)),
    ];
    for (id, version, (parent, shared, depth)) in cases {
        assert_eq!(fork(&agent, id, "two", version).await.version, version + 1);
        let expected = (parent.to_owned(), shared, depth);
        assert_eq!(fork_point_of(&agent, id).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn depth_is_bounded_and_reads_reach_the_root() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("f0").await;
    for depth in 1..=FORK_DEPTH_MAX {
        let (id, parent) = (format!("f{depth}"), format!("f{}", depth - 1));
        fork(&agent, &id, &parent, depth.into()).await;
        assert_eq!(fork_point_of(&agent, &id).await, (parent, depth.into(), depth));
    }
    let last = format!("f{FORK_DEPTH_MAX}");
    let end = u64::from(FORK_DEPTH_MAX) + 1;
    let outcome = try_fork(&agent, "deeper", &last, end).await;
    let expected = (Code::FailedPrecondition, "FORK_TOO_DEEP", "forked_from");
    let failure = check_failure("one more", outcome, expected);
    assert_eq!(failure.metadata["fork_depth_max"], FORK_DEPTH_MAX.to_string());
    // A fork of the last one's shared events is as deep as a fork of its ancestor.
    fork(&agent, "beside", &last, end - 1).await;
    agent.wait_for_rows(&last, end).await;
    stack.projector.stop().await;
    check_dense(&agent, &last, end).await;
    check_dense(&agent, "beside", end).await;
}

async fn check_dense(agent: &Agent, id: &str, end: u64) {
    let events = agent.events(agent.list_request(id)).await;
    let versions: Vec<u64> = events.iter().map(|event| event.version).collect();
    assert_eq!(versions, (1..=end).collect::<Vec<u64>>(), "{id}");
}

/// A retry gets the first answer, independent of later changes of the parent.
#[tokio::test(flavor = "multi_thread")]
async fn retries_get_the_first_answer_without_the_parent() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    // The first key is in the head; the age of the second key is unknown.
    for (number, key) in [Uuid::now_v7(), Uuid::new_v4()].into_iter().enumerate() {
        let (parent, id) = (format!("parent-{number}"), format!("fork-{number}"));
        agent.create(&parent).await;
        let request = with(fork_request(&agent, &id, &parent, 1), |request| {
            request.idempotency_key = key.to_string();
        });
        let first = agent.try_create(request.clone()).await.expect("a fork");
        agent.try_erase(agent.target(&parent)).await.expect("erased");
        // More commits than a head lists, so that the key must be searched.
        for commits in [0, 9] {
            for _ in 0..commits {
                agent.append(&id, vec![user("more")]).await;
            }
            let again = agent.try_create(request.clone()).await.expect("the answer");
            assert_eq!(again, with(first.clone(), |first| first.replayed = true));
        }
        let other = with(request, |request| request.title = "other".to_owned());
        let expected = (Code::FailedPrecondition, "IDEMPOTENCY_KEY_REUSED", "idempotency_key");
        check_failure("another request", agent.try_create(other).await, expected);
    }
}
