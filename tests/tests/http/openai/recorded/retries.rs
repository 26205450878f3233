//! Clients repeat requests without an idempotency key.

use serde_json::json;

use super::{CONVERSATION, FAIL, PATH, System, body, conversation, history, recorded, send, user};
use crate::fixture::{list, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_gets_the_first_answer() {
    let system = System::start().await;
    let ada = system.client.with("x-hansard-user", "ada");
    let chat = ada.with(CONVERSATION, "chat-1");
    let retry = chat.with("x-stainless-retry-count", "1");
    let first = send(&chat, &[user("a")]).await;
    let id = conversation(&first);
    let content = |answer: &tests::http_client::Answer| answer.ok(200)["choices"][0]["message"]["content"].clone();
    for _ in 0..2 {
        let again = send(&retry, &[user("a")]).await;
        assert_eq!(content(&again), "1: a");
        assert_eq!(conversation(&again), id);
    }
    assert_eq!(system.model.requests().len(), 1);
    assert_eq!(history(&ada, &id).await.len(), 2);
    // Without the header, an equal request regenerates the answer.
    assert_eq!(content(&send(&chat, &[user("a")]).await), "2: a");
    // The latest attempt of an equal request is repeated, also streamed.
    let mut streamed = body(&[user("a")]);
    streamed["stream"] = json!(true);
    chat.post(PATH, &streamed).await;
    let events = recorded(&ada, &id).await.len();
    let again = retry.post(PATH, &streamed).await;
    assert!(String::from_utf8_lossy(&again.body).contains("3: a"));
    assert_eq!(recorded(&ada, &id).await.len(), events);
    // An attempt that did not arrive is a new request.
    assert_eq!(content(&send(&retry, &[user("b")]).await), "4: b");
    // The client's id of the message is a part of the request.
    let other = retry.with("x-hansard-message", "m2");
    assert_eq!(content(&send(&other, &[user("b")]).await), "5: b");
}

/// A crash between two commits would leave a conversation without its question.
#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_and_its_first_run_are_one_commit() {
    let system = System::start().await;
    let ada = system.client.with("x-hansard-user", "ada");
    let id = conversation(&send(&ada.with(CONVERSATION, "chat-1"), &[user("a")]).await);
    let page = ada.get(&format!("/v1/conversations/{id}/events")).await.ok(200);
    let first: Vec<(&str, bool)> = list(&page, "events")
        .iter()
        .map(|event| (text(event, "type"), event["commitId"] == page["events"][0]["commitId"]))
        .collect();
    let expected =
        [("ConversationCreated", true), ("MessageAppended", true), ("RunStarted", true), ("MessageAppended", false)];
    assert_eq!(first.get(..4), Some(&expected[..]), "{first:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_attempt_is_repeated() {
    let system = System::start().await;
    let ada = system.client.with("x-hansard-user", "ada");
    let chat = ada.with(CONVERSATION, "chat-1");
    for (count, stream) in [("0", false), ("1", false), ("2", true)] {
        let mut request = body(&[user(FAIL)]);
        request["stream"] = json!(stream);
        let retry = chat.with("x-stainless-retry-count", count);
        let failed = retry.post(PATH, &request).await;
        assert_eq!(failed.status, 503, "{count}");
    }
    assert_eq!(system.model.requests().len(), 3);
    let kinds = recorded(&ada, &listed(&system, &chat).await).await;
    let messages = kinds.iter().filter(|kind| *kind == "MessageAppended");
    // The question once, and the one of `listed` with its answer.
    assert_eq!(messages.count(), 3, "{kinds:?}");
}

/// The conversation of a chat.
async fn listed(_system: &System, chat: &tests::http_client::HttpClient) -> String {
    let messages = [user(FAIL), user("next")];
    conversation(&send(chat, &messages).await)
}
