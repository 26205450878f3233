//! What an outsider gets by dating an idempotency key ahead, and by closing the connection of a `DELETE`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::Method;
use serde_json::{Value, json};
use tests::door::Door;
use tests::eventually::eventually;
use tests::operator::echo;
use uuid::{NoContext, Timestamp, Uuid};

use crate::ground::Ground;

/// Beyond what clocks may be off.
const AHEAD: Duration = Duration::from_hours(1);

/// Messages of the chat that is erased.
const MESSAGES: usize = 20;

async fn session(ground: &Ground) -> Door {
    let operator = ground.operator().await;
    operator.agent("acme", "support").await;
    operator.settings("support", echo()).await;
    let key = operator.api_key("support").await;
    let stranger = ground.stranger().with("x-api-key", &key.secret);
    stranger.in_session().await
}

async fn begin(session: &Door) -> String {
    let begun = session.post("/api/chats", &json!({})).await.ok(201);
    begun["id"].as_str().expect("an id").to_owned()
}

/// A key of version 7 whose time is later than now.
fn key_ahead(ahead: Duration) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a time");
    let time = Timestamp::from_unix(NoContext, (now + ahead).as_secs(), 0);
    Uuid::new_v7(time).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_is_neither_dated_ahead_nor_cut_off() {
    let ground = Ground::start().await;
    let session = session(&ground).await;
    let chat = begin(&session).await;
    let path = format!("/api/chats/{chat}");

    // Once such a key were young, the record would have forgotten it, and commit it again.
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
        assert_eq!(refused.told(), expected, "{method} {path}");
    }
    let shown = session.get(&path).await.ok(200);
    assert_eq!(
        shown["messages"].as_array().map(Vec::len),
        Some(0),
        "{shown}"
    );

    for _ in 0..MESSAGES {
        let said = session.post(&format!("{path}/messages"), &hello).await;
        assert_eq!(said.status, 200);
    }
    let key = Uuid::now_v7().to_string();
    let erasing = session.with("idempotency-key", &key);
    let cut = tokio::spawn(erasing.request(Method::DELETE, &path).send());
    eventually("a chat that is gone", || async {
        (session.get(&path).await.status == 404).then_some(())
    })
    .await;
    cut.abort();
    eventually("an erasure that is complete", || async {
        (erasing.delete(&path).await.status == 204).then_some(())
    })
    .await;
}
