//! Documents without a projector, and after an erasure.

use tests::errors::check_failure;
use tests::stack::{Setup, Stack};
use tonic::Code;

use super::calls::{get, keys, put, put_request, scope, search_request, try_delete, try_put, value, versions};

const NAME: (&str, &str) = ("n", "k");

/// A caller reads its own writes while no rows are written.
#[tokio::test(flavor = "multi_thread")]
async fn reads_contain_earlier_writes_without_a_projector() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let rows = put(&agent, ("n", "rows"), "0").await;
    agent.wait_for_rows(&rows.conversation_id, rows.version).await;
    let before = get(&agent, ("n", "rows")).await.expect("a document");
    stack.projector.stop().await;
    put(&agent, NAME, "1").await;
    assert_eq!(value(&agent, NAME).await.as_deref(), Some("1"));
    put(&agent, NAME, "2").await;
    let second = get(&agent, NAME).await.expect("a document");
    assert_eq!(second.value_json, "2");
    assert_ne!(second.created_at, second.updated_at);
    put(&agent, ("n", "rows"), "1").await;
    let after = get(&agent, ("n", "rows")).await.expect("a document");
    assert_eq!((after.value_json.as_str(), after.created_at), ("1", before.created_at));
    try_delete(&agent, ("n", "rows"), None).await.expect("a deletion");
    assert_eq!(value(&agent, ("n", "rows")).await, None);
    let third = put(&agent, ("n", "rows"), "2").await;
    let live = get(&agent, ("n", "rows")).await.expect("a document");
    assert_eq!(live.created_at, live.updated_at);
    // The projector computes the same.
    stack.projector.start().await;
    agent.wait_for_rows(&third.conversation_id, third.version).await;
    assert_eq!(get(&agent, ("n", "rows")).await, Some(live));
    agent.wait_for_rows(&second.conversation_id, second.version).await;
    assert_eq!(get(&agent, NAME).await, Some(second));
}

/// The name of an erased document cannot be used again, as the key of an erased history.
#[tokio::test(flavor = "multi_thread")]
async fn erased_documents_stay_erased() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let erased = put(&agent, NAME, "\"secret\"").await;
    agent.wait_for_rows(&erased.conversation_id, erased.version).await;
    let target = agent.target(&erased.conversation_id);
    let tombstone = agent.try_erase(target).await.expect("an erasure");
    assert_eq!(value(&agent, NAME).await, None);
    assert_eq!(versions(&agent, scope(&agent, None), NAME, (0, 0)).await.0, []);
    let search = search_request(&agent, "", "", &[&tombstone.position_token]);
    assert_eq!(keys(&agent, search).await, Vec::<String>::new());
    let expected = (Code::FailedPrecondition, "CONVERSATION_ERASED", "");
    for expected_version in [None, Some(0)] {
        let request =
            wire::proto::document::v1::PutDocumentRequest { expected_version, ..put_request(&agent, NAME, "1") };
        check_failure("a put", try_put(&agent, request).await, expected);
    }
    let deleted = try_delete(&agent, NAME, None).await.expect("an answer");
    assert!(!deleted.deleted);
    assert_eq!(value(&agent, ("n", "other")).await, None);
    put(&agent, ("n", "other"), "1").await;
}
