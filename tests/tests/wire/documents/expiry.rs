//! Documents with an end.

use std::time::Duration;

use tests::eventually::eventually;
use tests::stack::{Setup, Stack};
use wire::proto::document::v1 as proto;

use super::calls::{get, keys, put, put_request, search_request, try_put};

const NAME: (&str, &str) = ("n", "k");

#[tokio::test(flavor = "multi_thread")]
async fn expired_documents_are_not_read() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let request = |ttl_seconds| proto::PutDocumentRequest { ttl_seconds, ..put_request(&agent, NAME, "1") };
    let long = try_put(&agent, request(3_600)).await.expect("a value");
    let found = get(&agent, NAME).await.expect("a document");
    let seconds = |time: Option<prost_types::Timestamp>| time.map(|time| time.seconds);
    assert_eq!(seconds(found.expires_at), seconds(found.updated_at).map(|at| at + 3_600));
    let search = || search_request(&agent, "", "", &[&long.position_token]);
    assert_eq!(keys(&agent, search()).await, ["k"]);
    try_put(&agent, request(1)).await.expect("a value");
    eventually("the end of the document", async || get(&agent, NAME).await.is_none().then_some(())).await;
    assert_eq!(keys(&agent, search()).await, Vec::<String>::new());
    // Nothing has deleted it: the next value starts again.
    let next = proto::PutDocumentRequest { expected_version: Some(0), ..put_request(&agent, NAME, "2") };
    let next = try_put(&agent, next).await.expect("a new document");
    let renewed = get(&agent, NAME).await.expect("a document");
    assert_eq!(renewed.created_at, renewed.updated_at);
    agent.wait_for_rows(&next.conversation_id, next.version).await;
    assert_eq!(get(&agent, NAME).await, Some(renewed));
}

/// A round of retention deletes them, and their names can be used again.
#[tokio::test(flavor = "multi_thread")]
async fn expired_documents_are_deleted_by_retention() {
    let mut stack = Setup::tasks().prepare().await;
    stack.gateway.settings.gateway.retention.every_seconds = 1;
    stack.start().await;
    let agent = stack.any_agent().await;
    let request = proto::PutDocumentRequest { ttl_seconds: 1, ..put_request(&agent, NAME, "1") };
    let short = try_put(&agent, request).await.expect("a value");
    let kept = put(&agent, ("n", "kept"), "1").await;
    let deleted = short.version + 1;
    tokio::time::timeout(Duration::from_mins(1), agent.wait_for_rows(&short.conversation_id, deleted))
        .await
        .expect("a deletion");
    let again = put(&agent, NAME, "2").await;
    assert_eq!(again.version, deleted + 1);
    let found = get(&agent, ("n", "kept")).await.expect("a document");
    assert_eq!(found.version, kept.version);
}
