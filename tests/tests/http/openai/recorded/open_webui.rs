//! What Open WebUI 0.12 sends for a chat: with headers of its connection, and with the headers that it forwards.

use serde_json::{Value, json};
use tests::http_client::HttpClient;

use super::{AGENT, CONVERSATION, PATH, System, assistant, conversation, error, history, pairs, recorded, user};
use crate::fixture::list;

const CHAT: &str = "0b4d8a52-93ee-4a3c-8a5e-2f4f1f0b6f5d";
const USER: &str = "5f0c7a6e-1c63-44b4-9c1e-7f2f5a1f9c11";

/// A connection with the custom headers of the guide, for one call.
fn connection(client: &HttpClient, message: &str, task: &str) -> HttpClient {
    let client = client.with("x-hansard-user", USER).with(CONVERSATION, CHAT).with("x-hansard-message", message);
    client.with("x-hansard-task", task)
}

/// The body of a call. `metadata` is not sent.
fn chat_body(messages: &[Value]) -> Value {
    let usage = json!({"include_usage": true});
    json!({"model": AGENT, "messages": messages, "stream": true, "stream_options": usage})
}

async fn streamed(client: &HttpClient, messages: &[Value]) -> (String, String) {
    let answer = client.post(PATH, &chat_body(messages)).await;
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    (conversation(&answer), text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_is_one_conversation() {
    let system = System::start().await;
    let client = &system.client;
    let (id, _) = streamed(&connection(client, "m1", ""), &[user("a")]).await;
    // After the answer: title, tags and follow-ups, with the chat's id.
    for task in ["title_generation", "tags_generation", "follow_up_generation"] {
        let task = connection(client, "m1", task);
        let prompt = user("### Task:\nSuggest.\n### Chat History:\na");
        let request = json!({"model": AGENT, "messages": [prompt], "stream": false});
        let answer = task.post(PATH, &request).await;
        assert!(!answer.headers.contains_key(CONVERSATION));
    }
    // The next message, a regenerated answer, and an edited message with an id of its own.
    let first = [user("a"), assistant("1: a")];
    let second = [&first[..], &[user("b")]].concat();
    for (message, messages) in [("m2", &second), ("m2", &second)] {
        let (same, _) = streamed(&connection(client, message, ""), messages).await;
        assert_eq!(same, id);
    }
    let edited = [&first[..], &[user("c")]].concat();
    streamed(&connection(client, "m3", ""), &edited).await;
    let expected = [("user", "a"), ("assistant", "1: a"), ("user", "c"), ("assistant", "7: c")];
    let reader = client.with("x-hansard-user", USER);
    assert_eq!(history(&reader, &id).await, pairs(&expected));
    let kinds = recorded(&reader, &id).await;
    let rewinds = kinds.iter().filter(|kind| *kind == "HistoryRewound");
    assert_eq!(rewinds.count(), 2);
    let path = format!("/v1/conversations/{id}/events?kinds=MessageAppended");
    let events = reader.get(&path).await.ok(200);
    let ids: Vec<&str> =
        list(&events, "events").iter().filter_map(|event| event["metadata"]["clientMessageId"].as_str()).collect();
    assert_eq!(ids, ["m1", "m2", "m3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn forwarded_headers_name_the_same_chat() {
    let system = System::start().await;
    let client = &system.client;
    let (id, _) = streamed(&connection(client, "m1", ""), &[user("a")]).await;
    let forwarded = client
        .with("x-openwebui-user-name", "Ada")
        .with("x-openwebui-user-id", USER)
        .with("x-openwebui-user-email", "ada@example.com")
        .with("x-openwebui-user-role", "user")
        .with("x-openwebui-chat-id", CHAT);
    let next = [user("a"), assistant("1: a"), user("b")];
    assert_eq!(streamed(&forwarded, &next).await.0, id);
    let other = forwarded.with("x-openwebui-user-id", "another user");
    assert_ne!(streamed(&other, &[user("a")]).await.0, id);
    // The connection's own headers have precedence.
    let both = forwarded.with("x-hansard-user", "another user");
    assert_ne!(streamed(&both, &[user("a")]).await.0, id);
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_that_are_not_replaced_are_rejected() {
    let system = System::start().await;
    for (header, value) in [
        (CONVERSATION, "{{CHAT_ID}}"),
        ("x-hansard-message", "{{USER_MESSAGE_ID}}"),
        ("x-hansard-task", "{{TASK}}"),
        ("x-hansard-user", "{{USER_ID}}"),
    ] {
        let client = connection(&system.client, "m1", "").with(header, value);
        let refused = client.post(PATH, &chat_body(&[user("a")])).await;
        let (status, _, param) = error(&refused);
        assert_eq!((status, param.as_str()), (400, header));
    }
    assert!(system.model.requests().is_empty());
}
