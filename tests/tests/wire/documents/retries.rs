//! Attempts with the same idempotency key record once.

use tests::agent::Agent;
use tests::errors::check_failure;
use tests::stack::Stack;
use tonic::Code;
use uuid::Uuid;
use wire::proto::document::v1 as proto;

use super::calls::{labels, put, put_request, scope, try_delete, try_put, value};

const NAME: (&str, &str) = ("n", "k");

fn request(agent: &Agent, key: Uuid, expected: Option<u64>) -> proto::PutDocumentRequest {
    proto::PutDocumentRequest {
        expected_version: expected,
        idempotency_key: key.to_string(),
        ..put_request(agent, NAME, "\"retried\"")
    }
}

/// Sends a request twice, with another write in between.
async fn check(agent: &Agent, expected: Option<u64>) -> u64 {
    let request = request(agent, Uuid::now_v7(), expected);
    let first = try_put(agent, request.clone()).await.expect("a value");
    let again = try_put(agent, request.clone()).await.expect("a value");
    assert_eq!(first, again, "{expected:?}");
    let other = put(agent, NAME, "\"other\"").await.version;
    assert_eq!(other, first.version + 1, "{expected:?}");
    other
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_record_once() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    check(&agent, Some(0)).await;
    let version = check(&agent, None).await;
    check(&agent, Some(version)).await;
    try_delete(&agent, NAME, None).await.expect("a deletion");
    check(&agent, Some(0)).await;
}

/// A retry after another write does not record the old value again.
#[tokio::test(flavor = "multi_thread")]
async fn late_retries_do_not_replace_later_values() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let created = request(&agent, Uuid::now_v7(), None);
    let first = try_put(&agent, created.clone()).await.expect("a value");
    let replaced = request(&agent, Uuid::now_v7(), None);
    let second = try_put(&agent, replaced.clone()).await.expect("a value");
    put(&agent, NAME, "\"later\"").await;
    assert_eq!(try_put(&agent, created).await.expect("an answer").version, first.version);
    assert_eq!(try_put(&agent, replaced.clone()).await.expect("an answer").version, second.version);
    assert_eq!(value(&agent, NAME).await.as_deref(), Some("\"later\""));
    let other = proto::PutDocumentRequest { value_json: "1".to_owned(), ..replaced };
    let reused = (Code::FailedPrecondition, "IDEMPOTENCY_KEY_REUSED", "target.idempotency_key");
    check_failure("a key with another value", try_put(&agent, other).await, reused);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retried_deletion_is_answered_again() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    put(&agent, NAME, "1").await;
    let request = proto::DeleteDocumentRequest {
        scope: Some(scope(&agent, None)),
        namespace: labels(NAME.0),
        key: NAME.1.to_owned(),
        idempotency_key: Uuid::now_v7().to_string(),
        ..proto::DeleteDocumentRequest::default()
    };
    let delete = async || {
        let mut documents = agent.caller().documents();
        let answer = documents.delete_document(request.clone()).await;
        answer.expect("an answer").into_inner()
    };
    let first = delete().await;
    assert!(first.deleted);
    let again = delete().await;
    assert_eq!((again.deleted, again.version), (true, first.version));
}
