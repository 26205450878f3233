//! Every bound at its edge, with errors in OpenAI's format.

use serde_json::{Value, json};
use tests::http_client::HttpClient;

use super::{ALL, PATH, append, back_end, created, error, items, message};
use crate::fixture::{Fixture, list};

#[tokio::test(flavor = "multi_thread")]
async fn bounds_at_their_edges() {
    let fixture = Fixture::new().await;
    let client = back_end(&fixture, &ALL).await;
    let path = created(&client, json!([])).await;
    for (items, code, param) in rejected() {
        let body = json!({"items": items});
        let expected = (400, code.to_owned(), param.to_owned());
        for path in [PATH.to_owned(), format!("{path}/items")] {
            assert_eq!(error(&client.post(&path, &body).await), expected, "{path}");
        }
    }
    let many = |count: usize| json!({"items": vec![message("x"); count]});
    client.post(PATH, &many(499)).await.ok(200);
    let expected = (400, "TOO_MANY_EVENTS".to_owned(), "items".to_owned());
    assert_eq!(error(&client.post(PATH, &many(500)).await), expected);
    let reference = json!({"items": [message("x"), {"type": "item_reference", "id": "msg_none"}]});
    let refused = client.post(&format!("{path}/items"), &reference).await;
    assert_eq!(error(&refused), (400, "ITEM_NOT_FOUND".to_owned(), "items[1].id".to_owned()));
    assert_eq!(items(&client, &path).await, Vec::<Value>::new(), "nothing is recorded partially");
    accepted(&client, &path).await;
    queries(&client, &path).await;
    let metadata = |pairs: usize| -> Value {
        let pairs = (0..pairs).map(|pair| (pair.to_string(), json!("x".repeat(512))));
        json!({"metadata": Value::Object(pairs.collect())})
    };
    for path in [PATH, &path] {
        client.post(path, &metadata(16)).await.ok(200);
        let expected = (400, "FIELD_TOO_LONG".to_owned(), "metadata".to_owned());
        assert_eq!(error(&client.post(path, &metadata(17)).await), expected);
    }
    let missing = client.post(&path, &json!({})).await;
    assert_eq!(error(&missing), (400, "FIELD_MISSING".to_owned(), "metadata".to_owned()));
}

/// Items with the code and the parameter of their error.
fn rejected() -> Vec<(Value, &'static str, &'static str)> {
    let many: Vec<Value> = (0..501).map(|_| message("x")).collect();
    let call = |call_id: &str| json!({"type": "function_call", "call_id": call_id, "name": "n", "arguments": "{}"});
    vec![
        (json!(many), "TOO_MANY_EVENTS", "items"),
        (json!([1]), "FIELD_MALFORMED", "items[0]"),
        (json!([message("x"), {"role": "user"}]), "FIELD_MISSING", "items[1].content"),
        (json!([{"content": "x"}]), "FIELD_MISSING", "items[0].role"),
        (json!([{"type": 1}]), "FIELD_MALFORMED", "items[0].type"),
        (
            json!([{"type": "function_call", "call_id": "c", "name": null, "arguments": "{}"}]),
            "FIELD_MISSING",
            "items[0].name",
        ),
        (json!([{"type": "function_call_output", "output": "x"}]), "FIELD_MISSING", "items[0].call_id"),
        (json!([call("")]), "FIELD_MALFORMED", "items[0].call_id"),
        (json!([call(&"x".repeat(257))]), "FIELD_MALFORMED", "items[0].call_id"),
        (
            json!([message("x"), {"type": "reasoning", "id": "rs_1", "summary": []}, {"type": "reasoning", "id": "rs_1", "summary": []}]),
            "DUPLICATE_ITEM",
            "items[2].id",
        ),
        (json!([{"type": "x", "id": "i".repeat(257)}]), "FIELD_TOO_LONG", "items[0].id"),
        (json!([message(&"x".repeat(512 * 1024))]), "EVENT_TOO_LARGE", "items[0]"),
        (json!([{"role": "user", "content": "x", "more": "x".repeat(64 * 1024)}]), "FIELD_TOO_LONG", "items[0]"),
        (json!([{"role": "user", "content": "x", "more": "\0"}]), "NUL_CHARACTER", "items[0]"),
    ]
}

/// The largest requests.
async fn accepted(client: &HttpClient, path: &str) {
    let many: Vec<Value> = (0..500).map(|number| message(&number.to_string())).collect();
    let made = append(client, path, json!(many)).await;
    assert_eq!(list(&made, "data").len(), 500);
    let large = "x".repeat(512 * 1024 - 256);
    append(client, path, json!([message(&large), {"type": "x", "id": "i".repeat(256)}])).await;
    let more = "x".repeat(64 * 1024 - 256);
    append(client, path, json!([{"role": "user", "content": "x", "more": more}])).await;
    // More open calls than a conversation can have.
    let call =
        |number: usize| json!({"type": "function_call", "call_id": number.to_string(), "name": "n", "arguments": "{}"});
    let calls: Vec<Value> = (0..130).map(call).collect();
    let made = append(client, path, json!(calls)).await;
    assert!(list(&made, "data").iter().all(|item| item["status"] == "completed"));
    let output = |number: usize| json!({"type": "function_call_output", "call_id": number.to_string(), "output": ""});
    let outputs: Vec<Value> = (0..130).map(output).collect();
    append(client, path, json!(outputs)).await;
}

async fn queries(client: &HttpClient, path: &str) {
    let listed = |query: &str| {
        let path = format!("{path}/items?{query}");
        async move { client.get(&path).await }
    };
    for limit in [1, 100] {
        let page = listed(&format!("limit={limit}")).await.ok(200);
        assert_eq!(list(&page, "data").len(), limit);
    }
    for (query, code, param) in [
        ("limit=0", "FIELD_OUT_OF_RANGE", "limit"),
        ("limit=101", "FIELD_OUT_OF_RANGE", "limit"),
        ("limit=x", "FIELD_MALFORMED", "limit"),
        ("order=up", "FIELD_MALFORMED", "order"),
        ("after=msg_none", "ITEM_NOT_FOUND", "after"),
    ] {
        let expected = (400, code.to_owned(), param.to_owned());
        assert_eq!(error(&listed(query).await), expected, "{query}");
    }
}
