//! Retried calls, with and without the version that the caller had loaded.

use tests::stack::Stack;
use wire::proto::history::v1 as proto;

use super::calls::{codes, key, load, record, record_request, short, try_record};

const NAME: &str = "018f3c1e-0000-7000-8000-000000000001";

#[tokio::test(flavor = "multi_thread")]
async fn retries_with_the_same_name() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let key = key(&agent, "room");
    let request =
        proto::RecordHistoryRequest { idempotency_key: NAME.to_owned(), ..record_request(&key, &["u 1", "a 2"]) };
    for appended in [2, 0] {
        let recorded = try_record(&agent, request.clone()).await.expect("an answer");
        assert_eq!((recorded.warnings, recorded.appended_count), (vec![], appended));
    }
    // After messages of others, the same turn could be a new one; the name identifies it as a retry.
    record(&agent, &key, &["u 3"]).await;
    let recorded = try_record(&agent, request).await.expect("an answer");
    assert_eq!(codes(&recorded.warnings), ["IDEMPOTENCY_KEY_REUSED"]);
    assert_eq!(recorded.appended_count, 0);
    assert_eq!(short(&load(&agent, &key, &[]).await.messages), ["u 1", "a 2", "u 3"]);
}

/// Two runs load the same history; the later thread has the loaded messages, without those that the earlier run
/// recorded.
#[tokio::test(flavor = "multi_thread")]
async fn retries_with_the_loaded_version() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let key = key(&agent, "room");
    let version = record(&agent, &key, &["u 1", "a 2"]).await.version;
    record(&agent, &key, &["u x", "a y"]).await;
    let request =
        proto::RecordHistoryRequest { loaded_version: Some(version), ..record_request(&key, &["u 1", "a 2", "u 3"]) };
    for appended in [1, 0] {
        let recorded = try_record(&agent, request.clone()).await.expect("an answer");
        assert_eq!((recorded.warnings, recorded.appended_count), (vec![], appended));
    }
    let kept = short(&load(&agent, &key, &[]).await.messages);
    assert_eq!(kept, ["u 1", "a 2", "u x", "a y", "u 3"]);
}
