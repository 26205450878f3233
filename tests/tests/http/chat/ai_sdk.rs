//! The AI SDK's own requests, as its transport sends them.

use gateway::http::ai_sdk::send_ui_messages::UI_REQUEST_BYTES_MAX;
use serde_json::{Value, json};
use tests::events::{call, user as user_message};

use crate::turns::fixture::TurnFixture;
use crate::turns::sse::{EventStream, text};

pub(crate) fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]})
}

pub(crate) fn submit(chat: &str, messages: &[Value]) -> Value {
    json!({"id": chat, "messages": messages, "trigger": "submit-message"})
}

pub(crate) async fn send(fixture: &TurnFixture, body: &Value) -> EventStream {
    let request = fixture.client.request(reqwest::Method::POST, "/api/chat");
    EventStream::open(request.json(body)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_message_creates_a_chat() {
    let fixture = TurnFixture::new().await;
    let first = submit("my-chat", &[user("m1", "hello")]);
    assert_eq!(text(&send(&fixture, &first).await.rest().await), "echo: hello");
    // The same message again belongs to the same turn.
    assert_eq!(text(&send(&fixture, &first).await.rest().await), "echo: hello");
    fixture.idle("my-chat").await;
    let second = submit("my-chat", &[user("m1", "hello"), user("m2", "again")]);
    assert_eq!(text(&send(&fixture, &second).await.rest().await), "echo: again");
    fixture.idle("my-chat").await;
    assert_eq!(fixture.messages("my-chat").await.len(), 4);
    let other = fixture.client.with("x-session-id", "other");
    // The same id is another chat of another owner.
    assert_eq!(other.post("/api/chat", &first).await.status, 200);
    assert_eq!(fixture.messages("my-chat").await.len(), 4);
    assert_eq!(fixture.client.get("/api/chat/my-chat/stream").await.status, 204);
    assert_eq!(fixture.client.post("/api/chat/my-chat/stop", &Value::Null).await.status, 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn results_in_the_last_message_answer_open_calls() {
    let fixture = TurnFixture::new().await;
    let chat = fixture.chat().await;
    fixture.agent.append(&chat, vec![user_message("look"), call("c1", "{}")]).await;
    let part =
        json!({"type": "tool-search", "toolCallId": "c1", "state": "output-available", "input": {}, "output": "found"});
    let assistant = json!({"id": "a1", "role": "assistant", "parts": [part]});
    let body = submit(&chat, &[user("m1", "look"), assistant]);
    let heard = send(&fixture, &body).await.rest().await;
    assert_eq!(text(&heard), "echo: look");
    fixture.idle(&chat).await;
    // After the answer, nothing is left to answer.
    let again = fixture.client.post("/api/chat", &body).await;
    assert_eq!(again.status_and_code(), (409, "NOTHING_TO_ANSWER".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn request_sizes_are_bounded() {
    let fixture = TurnFixture::new().await;
    let status_of = async |bytes: usize| {
        let mut body = json!({"id": "none", "messages": []}).to_string();
        body.push_str(&" ".repeat(bytes - body.len()));
        let request =
            fixture.client.request(reqwest::Method::POST, "/api/chat").header("content-type", "application/json");
        request.body(body).send().await.unwrap().status().as_u16()
    };
    assert_eq!(status_of(UI_REQUEST_BYTES_MAX).await, 404);
    assert_eq!(status_of(UI_REQUEST_BYTES_MAX + 1).await, 413);
}
