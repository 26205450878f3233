//! Every role is started anew, and what was said before is still what the model reads.

use serde_json::{Value, json};

use super::ground::Talk;
use crate::ground::{list, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_third_turn_after_a_restart_holds_the_first_two() {
    let mut talk = Talk::new().await;
    let begun = talk
        .door
        .post("/v1/chat/sessions", &json!({}))
        .await
        .ok(201);
    let session = text(&begun, "session_id").to_owned();
    for said in ["first", "second"] {
        let body = json!({"message": said, "session_id": session});
        let answer = talk.door.post("/v1/chat", &body).await.ok(200);
        assert_eq!(text(&answer, "response"), format!("echo: {said}"));
        assert_eq!(text(&answer, "session_id"), session);
    }
    talk.restart().await;
    let body = json!({"message": "third", "session_id": session});
    let answer = talk.door.post("/v1/chat", &body).await.ok(200);
    assert_eq!(text(&answer, "response"), "echo: third");
    // The built-in model counts the words that it reads: six more than the message alone has.
    let alone = talk
        .door
        .post("/v1/chat", &json!({"message": "third"}))
        .await
        .ok(200);
    let read_of = |answer: &Value| answer["usage"]["input_tokens"].as_u64().unwrap();
    assert_eq!(read_of(&answer), read_of(&alone) + 6, "{answer} {alone}");
    let path = format!("/v1/chat/sessions/{session}/messages");
    let shown = talk.door.get(&path).await.ok(200);
    let told: Vec<&str> = list(&shown, "messages")
        .iter()
        .map(|one| text(one, "content"))
        .collect();
    assert_eq!(
        told,
        [
            "first",
            "echo: first",
            "second",
            "echo: second",
            "third",
            "echo: third"
        ]
    );
}
