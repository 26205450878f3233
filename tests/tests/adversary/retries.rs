//! Attacks with an idempotency key dated in the future, and with a closed connection of a `DELETE`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::Method;
use serde_json::{Value, json};
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use tests::operator::echo;
use uuid::{NoContext, Timestamp, Uuid};

use crate::fixture::Fixture;

/// More than the tolerated clock difference.
const AHEAD: Duration = Duration::from_hours(1);

/// Messages of the erased chat.
const MESSAGES: usize = 20;

async fn session(fixture: &Fixture) -> HttpClient {
    let operator = fixture.operator().await;
    operator.agent("acme", "support").await;
    operator.settings("support", echo()).await;
    let key = operator.api_key("support").await;
    let stranger = fixture.stranger().with("x-api-key", &key.secret);
    stranger.in_session().await
}

async fn begin(session: &HttpClient) -> String {
    let begun = session.post("/api/chats", &json!({})).await.ok(201);
    begun["id"].as_str().expect("an id").to_owned()
}

/// A UUID of version 7 with a time in the future.
fn key_ahead(ahead: Duration) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time");
    let time = Timestamp::from_unix(NoContext, (now + ahead).as_secs(), 0);
    Uuid::new_v7(time).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn future_keys_are_rejected_and_closed_deletes_finish() {
    let fixture = Fixture::start().await;
    let session = session(&fixture).await;
    let chat = begin(&session).await;
    let path = format!("/api/chats/{chat}");

    // When such a key is no longer in the future, the record has forgotten it and would commit it again.
    let early = session.with("idempotency-key", &key_ahead(AHEAD));
    let hello = json!({"content": "hello"});
    for (method, path, body) in [
        (Method::POST, "/api/chats".to_owned(), json!({})),
        (Method::POST, format!("{path}/messages"), hello.clone()),
        (Method::POST, format!("{path}/fork"), json!({})),
        (Method::DELETE, path.clone(), Value::Null),
    ] {
        let body = (!body.is_null()).then_some(&body);
        let refused = early.send(method.as_str(), &path, body).await;
        let expected = (400, "IDEMPOTENCY_KEY_IN_FUTURE".to_owned());
        assert_eq!(refused.status_and_code(), expected, "{method} {path}");
    }
    let shown = session.get(&path).await.ok(200);
    assert_eq!(shown["messages"].as_array().map(Vec::len), Some(0), "{shown}");

    for _ in 0..MESSAGES {
        let answer = session.post(&format!("{path}/messages"), &hello).await;
        assert_eq!(answer.status, 200);
    }
    let key = Uuid::now_v7().to_string();
    let erasing = session.with("idempotency-key", &key);
    let cut = tokio::spawn(erasing.request(Method::DELETE, &path).send());
    eventually("a chat that is gone", || async { (session.get(&path).await.status == 404).then_some(()) }).await;
    cut.abort();
    eventually("an erasure that is complete", || async { (erasing.delete(&path).await.status == 204).then_some(()) })
        .await;
}
