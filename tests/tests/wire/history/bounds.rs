//! The maximum number of messages uses several commits, and is one history.

use prost::Message as _;
use tests::stack::Stack;
use wire::proto::history::v1 as proto;

use super::calls::{key, load, messages, record, record_request, short, try_record};

fn thread(texts: impl Iterator<Item = String>) -> Vec<String> {
    let who = ["u", "a"].into_iter().cycle();
    who.zip(texts).map(|(who, text)| format!("{who} {text}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_messages() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let key = key(&agent, "room");
    let texts_of_thread = thread((0..1_000).map(|number| number.to_string()));
    let thread: Vec<&str> = texts_of_thread.iter().map(String::as_str).collect();
    let recorded = record(&agent, &key, &thread).await;
    assert_eq!((recorded.appended_count, recorded.version), (1_000, 1_001));
    assert_eq!(record(&agent, &key, &thread).await.appended_count, 0);
    assert_eq!(short(&load(&agent, &key, &[]).await.messages), thread);
    // The end of a thread that exceeds the limit of a request.
    let end = [&thread[1..], &["u more"]].concat();
    let recorded = record(&agent, &key, &end).await;
    assert_eq!((recorded.appended_count, recorded.version), (1, 1_002));
}

/// The event around a message has enough additional space.
#[tokio::test(flavor = "multi_thread")]
async fn the_largest_message() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let key = key(&agent, "room");
    let most = 512 * 1_024 - 64;
    let text = |bytes: usize| format!("u {}", "x".repeat(bytes));
    let around = messages(&[&text(most)])[0].encoded_len() - most;
    let largest = text(most - around);
    assert_eq!(messages(&[&largest])[0].encoded_len(), most);
    assert_eq!(record(&agent, &key, &[&largest]).await.appended_count, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_messages() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let key = key(&agent, "room");
    let texts = ["x", "y", "z"].map(|letter| letter.repeat(500 * 1_024));
    let texts_of_thread = thread(texts.into_iter());
    let thread: Vec<&str> = texts_of_thread.iter().map(String::as_str).collect();
    let request = proto::RecordHistoryRequest {
        idempotency_key: "018f3c1e-0000-7000-8000-000000000001".to_owned(),
        ..record_request(&key, &thread)
    };
    let recorded = try_record(&agent, request).await.expect("a record");
    assert_eq!(recorded.warnings, []);
    assert_eq!(recorded.appended_count, 3);
    assert_eq!(short(&load(&agent, &key, &[]).await.messages), thread);
}
