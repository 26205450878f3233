//! After a restart of every role, the model still reads earlier turns.

use serde_json::{Value, json};

use super::fixture::TurnFixture;
use crate::fixture::{list, text};

#[tokio::test(flavor = "multi_thread")]
async fn turns_after_a_restart_include_earlier_turns() {
    let mut fixture = TurnFixture::own().await;
    let begun = fixture.client.post("/v1/chat/sessions", &json!({})).await.ok(201);
    let session = text(&begun, "session_id").to_owned();
    for content in ["first", "second"] {
        let body = json!({"message": content, "session_id": session});
        let answer = fixture.client.post("/v1/chat", &body).await.ok(200);
        assert_eq!(text(&answer, "response"), format!("echo: {content}"));
        assert_eq!(text(&answer, "session_id"), session);
    }
    fixture.restart().await;
    let body = json!({"message": "third", "session_id": session});
    let answer = fixture.client.post("/v1/chat", &body).await.ok(200);
    assert_eq!(text(&answer, "response"), "echo: third");
    // The built-in model counts the words that it reads: six more than in the message.
    let alone = fixture.client.post("/v1/chat", &json!({"message": "third"})).await.ok(200);
    let read_of = |answer: &Value| answer["usage"]["input_tokens"].as_u64().unwrap();
    assert_eq!(read_of(&answer), read_of(&alone) + 6, "{answer} {alone}");
    let path = format!("/v1/chat/sessions/{session}/messages");
    let shown = fixture.client.get(&path).await.ok(200);
    let contents: Vec<&str> = list(&shown, "messages").iter().map(|one| text(one, "content")).collect();
    assert_eq!(contents, ["first", "echo: first", "second", "echo: second", "third", "echo: third"]);
}
