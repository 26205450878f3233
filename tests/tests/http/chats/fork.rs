//! Forks: from a version, from a message, and from the start.

use serde_json::{Value, json};
use tests::events::{assistant, user};

use crate::fixture::{Fixture, begin, list, text};

#[tokio::test(flavor = "multi_thread")]
async fn forks_start_at_any_version() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    for turn in 0..3 {
        let events = vec![user(format!("q{turn}")), assistant(format!("a{turn}"))];
        fixture.agent.append(&chat, events).await;
    }
    let path = format!("/api/chats/{chat}");
    let page = session.get(&path).await.ok(200);
    let whole = list(&page, "messages");
    let id = |index: usize| json!({"messageId": text(&whole[index], "id")});
    let check = async |body: Value, version: u64, messages: usize| {
        let forked = session.post(&format!("{path}/fork"), &body).await.ok(201);
        assert_eq!(forked["forkedFrom"], json!({"id": chat, "version": version}), "{body}");
        let fork = session.get(&format!("/api/chats/{}", text(&forked, "id"))).await.ok(200);
        assert_eq!(list(&fork, "messages"), &whole[..messages], "{body}");
        assert_eq!(fork["forkedFrom"], json!({"id": chat, "version": version}), "{body}");
        assert_eq!(fork["version"], json!(version + 1), "{body}");
    };
    check(json!({}), 7, 6).await;
    check(json!({"version": 1}), 1, 0).await;
    check(json!({"version": 4}), 4, 3).await;
    check(id(0), 2, 1).await;
    check(id(1), 3, 2).await;
    check(id(5), 7, 6).await;
    let refused = async |body: Value, expected: (u16, &str)| {
        let (status, code) = session.post(&format!("{path}/fork"), &body).await.status_and_code();
        assert_eq!((status, code.as_str()), expected, "{body}");
    };
    refused(json!({"version": 8}), (404, "FORK_POINT_NOT_FOUND")).await;
    refused(json!({"version": 0}), (400, "FIELD_MISSING")).await;
    refused(json!({"messageId": "none"}), (404, "MESSAGE_NOT_FOUND")).await;
    refused(json!({"messageId": "a", "version": 1}), (400, "FIELD_CONFLICT")).await;
}
