//! Bounds of recorded completions, at their edges.

use serde_json::{Value, json};
use tests::http_client::Answer;

use super::{CONVERSATION, PATH, System, body, conversation, error, history, send, user};

#[tokio::test(flavor = "multi_thread")]
async fn values_at_their_bounds() {
    let system = System::start().await;
    let check = async |header: &str, value: &str, metadata: Value, expected: (u16, &str)| {
        let client = system.client.with(CONVERSATION, "chat-1").with(header, value);
        let mut request = body(&[user("a")]);
        request["metadata"] = metadata;
        let answer = client.post(PATH, &request).await;
        let param = error(&answer).2;
        assert_eq!((answer.status, param.as_str()), expected, "{header} {value}");
    };
    let ok = (200, "");
    for header in [CONVERSATION, "x-hansard-message"] {
        check(header, &"x".repeat(256), json!(null), ok).await;
        let refused = (400, header);
        check(header, &"x".repeat(257), json!(null), refused).await;
    }
    let user = "x-hansard-user";
    check(user, &"x".repeat(256), json!(null), ok).await;
    check(user, &"x".repeat(257), json!(null), (400, user)).await;
    let context = "x-hansard-context";
    check(context, "managed", json!(null), ok).await;
    check(context, "Managed", json!(null), (400, context)).await;
    let pairs = |count: usize| -> Value {
        let pairs = (0..count).map(|index| (index.to_string(), json!("x")));
        Value::Object(pairs.collect())
    };
    check(context, "", pairs(16), ok).await;
    check(context, "", pairs(17), (400, "metadata")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_events_at_their_bound() {
    let system = System::start().await;
    let messages = |count: usize| -> Vec<Value> {
        let numbers = 0..count;
        numbers.map(|number| user(&number.to_string())).collect()
    };
    let refused = |answer: &Answer| {
        let error = error(answer);
        assert_eq!((error.0, error.2.as_str()), (400, "messages"));
    };
    // A new conversation takes one place of the commit.
    let chat = system.client.with(CONVERSATION, "within");
    refused(&send(&chat, &messages(499)).await);
    let answer = send(&chat, &messages(498)).await;
    answer.ok(200);
    let id = conversation(&answer);
    // A longer history is continued, since only its end is new.
    let mut longer = messages(498);
    longer.push(json!({"role": "assistant", "content": "1: 497"}));
    let with_new = |count: usize| [longer.clone(), messages(count)].concat();
    refused(&send(&chat, &with_new(500)).await);
    send(&chat, &with_new(499)).await.ok(200);
    let path = format!("/openai/v1/conversations/{id}/items?order=desc&limit=2");
    let last = system.client.get(&path).await.ok(200);
    assert_eq!(last["data"][0]["content"][0]["text"], "2: 498");
    assert_eq!(history(&system.client, &id).await.len(), 100);
}
