//! An archived or erased conversation: recording returns a warning, and loading works.

use tests::stack::Stack;

use super::calls::{codes, key, load, record, record_request, short, try_record};

#[tokio::test(flavor = "multi_thread")]
async fn archived_then_restored_then_erased() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let key = key(&agent, "room");
    let conversation = record(&agent, &key, &["u 1"]).await.conversation_id;
    let target = || agent.target(&conversation);
    agent.try_archive(target()).await.expect("an archived one");
    let recorded = try_record(&agent, record_request(&key, &["u 1", "a 2"])).await.expect("an answer");
    assert_eq!(codes(&recorded.warnings), ["CONVERSATION_ARCHIVED"]);
    assert_eq!(recorded.appended_count, 0);
    assert_eq!(short(&load(&agent, &key, &["u 1", "a 2"]).await.messages), ["u 1", "a 2"]);
    agent.try_restore(target()).await.expect("a restored one");
    assert_eq!(record(&agent, &key, &["u 1", "a 2"]).await.appended_count, 1);
    agent.try_erase(target()).await.expect("an erased one");
    let recorded = try_record(&agent, record_request(&key, &["u 3"])).await.expect("an answer");
    assert_eq!(codes(&recorded.warnings), ["CONVERSATION_ERASED"]);
    assert_eq!(short(&load(&agent, &key, &["u 3"]).await.messages), ["u 3"]);
}
