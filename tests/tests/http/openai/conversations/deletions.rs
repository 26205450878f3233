//! Deleting the newest item is a rewind; deleting a conversation is an erasure.

use serde_json::{Value, json};
use tests::http_client::HttpClient;

use super::{ALL, append, back_end, created, error, items, message, texts};
use crate::fixture::{Fixture, list, text};

async fn pop(client: &HttpClient, path: &str) -> Value {
    let newest = client.get(&format!("{path}/items?limit=1")).await.ok(200);
    let id = text(&newest, "last_id");
    let conversation = client.delete(&format!("{path}/items/{id}")).await.ok(200);
    assert_eq!(conversation["object"], "conversation");
    assert_eq!(client.get(&format!("{path}/items/{id}")).await.status, 404);
    newest["data"][0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_item_is_deleted() {
    let fixture = Fixture::new().await;
    let client = back_end(&fixture, &ALL).await.with("x-hansard-user", "ada");
    let call = json!({"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "c", "output": "1"});
    let path = created(&client, json!([message("one"), call, output, message("two")])).await;
    let all = items(&client, &path).await;
    let oldest = client.delete(&format!("{path}/items/{}", text(&all[0], "id"))).await;
    assert_eq!(error(&oldest), (400, "ITEM_NOT_NEWEST".to_owned(), "item_id".to_owned()));
    assert_eq!(items(&client, &path).await, all);
    // The library repeats a request whose answer it did not get.
    let newest = format!("{path}/items/{}", text(&all[3], "id"));
    client.delete(&newest).await.ok(200);
    let again = client.with("x-stainless-retry-count", "1").delete(&newest).await;
    assert_eq!(again.status, 200);
    assert_eq!(client.delete(&newest).await.status, 404);
    assert_eq!(items(&client, &path).await, all[..3]);
    another_output(&client, &path).await;
    for expected in ["function_call_output", "function_call", "message"] {
        assert_eq!(text(&pop(&client, &path).await, "type"), expected);
    }
    assert_eq!(items(&client, &path).await, Vec::<Value>::new());
    append(&client, &path, json!([message("three")])).await;
    assert_eq!(texts(&client, &path).await, ["three"]);
}

/// An output replaces one that was deleted, and models read it. The call and the new output are the newest items afterwards.
async fn another_output(client: &HttpClient, path: &str) {
    let popped = pop(client, path).await;
    assert_eq!(text(&popped, "type"), "function_call_output");
    let other = json!({"type": "function_call_output", "call_id": "c", "output": "2"});
    let made = append(client, path, json!([other])).await;
    assert_eq!(list(&made, "data").len(), 1);
    let retry = client.with("x-stainless-retry-count", "1");
    assert_eq!(append(&retry, path, json!([other])).await, made);
    let kinds: Vec<String> = items(client, path).await.iter().map(type_of).collect();
    assert_eq!(kinds, ["message", "function_call", "function_call_output"]);
    let own = path.replace("/openai/v1/conversations/", "/v1/conversations/");
    let context = format!("{own}/context?format=openai-chat");
    let body = client.get(&context).await.ok(200)["body"].clone();
    let last = list(&body, "messages").last().cloned().unwrap_or_default();
    assert_eq!((&last["role"], &last["content"]), (&json!("tool"), &json!("2")));
    // An output of a call that nobody made is kept verbatim.
    let unknown = json!({"type": "function_call_output", "call_id": "x", "output": "3"});
    append(client, path, json!([unknown])).await;
    assert_eq!(pop(client, path).await["output"], "3");
}

fn type_of(item: &Value) -> String {
    text(item, "type").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_of_an_answer_with_several_is_deleted_alone() {
    let fixture = Fixture::new().await;
    let client = back_end(&fixture, &ALL).await.with("x-hansard-user", "ada");
    let path = created(&client, json!([message("one")])).await;
    let events = json!({"events": [{"type": "MessageAppended", "role": "assistant", "parts": [
        {"type": "thinking", "text": "hm"}, {"type": "text", "text": "a"}
    ]}]});
    let own = path.replace("/openai", "");
    client.post(&format!("{own}/events"), &events).await.ok(200);
    assert_eq!(pop(&client, &path).await["content"][0]["text"], "a");
    assert_eq!(pop(&client, &path).await["summary"][0]["text"], "hm");
    assert_eq!(texts(&client, &path).await, ["one"]);
    erased(&client, &path).await;
}

/// The conversation is gone in every API, and a retry gets the first answer.
async fn erased(client: &HttpClient, path: &str) {
    let deleted = client.delete(path).await.ok(200);
    assert_eq!((&deleted["object"], &deleted["deleted"]), (&json!("conversation.deleted"), &json!(true)));
    assert!(path.ends_with(text(&deleted, "id")));
    let again = client.with("x-stainless-retry-count", "2").delete(path).await;
    assert_eq!(again.ok(200), deleted);
    let missing = client.get("/openai/v1/conversations/conv_none").await;
    for answer in [
        client.delete(path).await,
        client.get(path).await,
        client.get(&format!("{path}/items")).await,
        client.post(&format!("{path}/items"), &json!({"items": [message("x")]})).await,
        client.post(path, &json!({"metadata": {}})).await,
    ] {
        assert_eq!((answer.status, answer.json()), (404, missing.json()));
    }
}
