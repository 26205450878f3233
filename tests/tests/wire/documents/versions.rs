//! Expected versions, and pages of versions.

use futures::future::join_all;
use tests::agent::Agent;
use tests::errors::check_failure;
use tests::stack::{Setup, Stack};
use tonic::{Code, Status};
use wire::proto::document::v1 as proto;

use super::calls::{put, put_request, scope, try_delete, try_put, value, versions};

const NAME: (&str, &str) = ("n", "k");

async fn put_at(agent: &Agent, value: &str, expected: u64) -> Result<proto::PutDocumentResponse, Status> {
    let request = proto::PutDocumentRequest { expected_version: Some(expected), ..put_request(agent, NAME, value) };
    try_put(agent, request).await
}

fn check_conflict<T: std::fmt::Debug>(outcome: Result<T, Status>, current: u64) {
    let expected = (Code::Aborted, "VERSION_CONFLICT", "");
    let failure = check_failure("another version", outcome, expected);
    assert_eq!(failure.metadata["current_version"], current.to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_requires_the_expected_version() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    check_conflict(put_at(&agent, "0", 7).await, 0);
    let first = put_at(&agent, "1", 0).await.expect("a new document").version;
    check_conflict(put_at(&agent, "9", 0).await, first);
    let second = put_at(&agent, "2", first).await.expect("the next value").version;
    check_conflict(put_at(&agent, "9", first).await, second);
    check_conflict(try_delete(&agent, NAME, Some(first)).await, second);
    assert_eq!(value(&agent, NAME).await.as_deref(), Some("2"));
    let deleted = try_delete(&agent, NAME, Some(second)).await.expect("a deletion");
    check_conflict(try_delete(&agent, NAME, Some(second)).await, 0);
    let third = put_at(&agent, "3", 0).await.expect("a new document").version;
    assert!(third > deleted.version);
}

/// One of several callers with the same expected version wins.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_writers_wins() {
    let stack = Stack::shared().await;
    let agent = &stack.any_agent().await;
    for round in 0..3 {
        let expected = match round {
            0 => 0,
            _ => put(agent, NAME, "\"base\"").await.version,
        };
        let puts = (0..8).map(|n| async move { put_at(agent, &n.to_string(), expected).await });
        let outcomes = join_all(puts).await;
        let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(won, 1, "{outcomes:?}");
        for lost in outcomes.into_iter().filter(Result::is_err) {
            let expected = (Code::Aborted, "VERSION_CONFLICT", "");
            check_failure("a lost race", lost, expected);
        }
    }
}

/// Without an expected version, every caller succeeds, also if the document is new.
#[tokio::test(flavor = "multi_thread")]
async fn writers_without_expectation_all_succeed() {
    let stack = Stack::shared().await;
    let agent = &stack.any_agent().await;
    let puts = (0..8).map(|n| async move { put(agent, NAME, &n.to_string()).await.version });
    let mut seen = join_all(puts).await;
    seen.sort_unstable();
    assert_eq!(seen, (2..10).collect::<Vec<u64>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_listed_by_pages() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let first = put(&agent, NAME, "0").await;
    agent.wait_for_rows(&first.conversation_id, first.version).await;
    stack.projector.stop().await;
    for n in 1..5 {
        put(&agent, NAME, &n.to_string()).await;
    }
    let page = async |before, limit| {
        let (seen, next) = versions(&agent, scope(&agent, None), NAME, (before, limit)).await;
        let values: Vec<String> = seen.into_iter().map(|(_, value)| value).collect();
        (values.join(" "), next)
    };
    let (values, next) = page(0, 2).await;
    assert_eq!(values, "4 3");
    let (values, next) = page(next, 2).await;
    assert_eq!(values, "2 1");
    assert_eq!(page(next, 2).await, ("0".to_owned(), 0));
    assert_eq!(page(0, 0).await, ("4 3 2 1 0".to_owned(), 0));
    let missing = versions(&agent, scope(&agent, None), ("n", "other"), (0, 0)).await;
    assert_eq!(missing, (Vec::new(), 0));
}
