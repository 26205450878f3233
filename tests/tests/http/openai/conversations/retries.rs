//! Clients repeat requests without an idempotency key.

use futures::future::join_all;
use serde_json::{Value, json};
use tests::http_client::HttpClient;

use super::{ALL, append, back_end, created, error, items, message, texts};
use crate::fixture::{Fixture, list};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_recorded_once_and_a_second_equal_one_again() {
    let fixture = Fixture::new().await;
    let client = back_end(&fixture, &ALL).await;
    let path = created(&client, json!([])).await;
    // A user who says the same twice.
    let first = append(&client, &path, json!([message("ok")])).await;
    let second = append(&client, &path, json!([message("ok")])).await;
    assert_ne!(first, second);
    assert_eq!(texts(&client, &path).await, ["ok", "ok"]);
    // The library repeats a request whose answer it did not get, also after other requests.
    let retry = client.with("x-stainless-retry-count", "1");
    assert_eq!(append(&retry, &path, json!([message("ok")])).await, second);
    append(&client, &path, json!([message("no")])).await;
    assert_eq!(append(&retry, &path, json!([message("ok")])).await, second);
    // The first attempt did not arrive.
    append(&retry, &path, json!([message("new")])).await;
    assert_eq!(texts(&client, &path).await, ["ok", "ok", "no", "new"]);
    calls_and_users(&client).await;
    concurrent(&client).await;
}

/// A retry of a call finds it, although the call is open since the first attempt. Another end user finds nothing.
async fn calls_and_users(client: &HttpClient) {
    let ada = client.with("x-hansard-user", "ada");
    let path = created(&ada, json!([])).await;
    let call = json!({"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "1"});
    for items in [json!([call, output("x")]), json!([output("c")])] {
        let first = append(&ada, &path, items.clone()).await;
        let retry = ada.with("x-stainless-retry-count", "1");
        assert_eq!(append(&retry, &path, items.clone()).await, first);
        let eve = client.with("x-hansard-user", "eve").with("x-stainless-retry-count", "1");
        let url = format!("{path}/items");
        let answer = eve.post(&url, &json!({"items": items})).await;
        assert_eq!(answer.status, 404);
    }
    assert_eq!(items(client, &path).await.len(), 3);
}

/// Equal concurrent requests are one, different ones lose the race.
async fn concurrent(client: &HttpClient) {
    let mut locked = 0;
    for round in 0..20 {
        let path = created(client, json!([message("first")])).await;
        let body = |number: usize| json!({"items": [message(&format!("{round} {number}"))]});
        let bodies: Vec<Value> = (0..4).map(|number| body(number % 2)).collect();
        let url = format!("{path}/items");
        let answers = join_all(bodies.iter().map(|body| client.post(&url, body))).await;
        let mut recorded = Vec::new();
        for answer in &answers {
            if answer.status == 200 {
                recorded.push(list(&answer.json(), "data")[0].clone());
            } else {
                let expected = (400, "conversation_locked".to_owned(), "conversation".to_owned());
                assert_eq!(error(answer), expected);
                locked += 1;
            }
        }
        let listed = items(client, &path).await;
        assert!(recorded.iter().all(|item| listed.contains(item)));
        assert!(listed[1..].iter().all(|item| recorded.contains(item)));
    }
    assert!(locked > 0, "no request lost a race");
}
