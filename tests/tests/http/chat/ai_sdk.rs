//! The AI SDK's own requests, as its transport sends them.

use gateway::http::chat::send_ui_messages::UI_REQUEST_BYTES_MAX;
use serde_json::{Value, json};
use tests::events::{call, user as said};

use crate::turns::ground::Talk;
use crate::turns::sse::{Listening, text};

pub(crate) fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]})
}

pub(crate) fn submit(chat: &str, messages: &[Value]) -> Value {
    json!({"id": chat, "messages": messages, "trigger": "submit-message"})
}

pub(crate) async fn send(talk: &Talk, body: &Value) -> Listening {
    let request = talk.door.request(reqwest::Method::POST, "/api/chat");
    Listening::open(request.json(body)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_begins_with_its_first_message() {
    let talk = Talk::new().await;
    let first = submit("my-chat", &[user("m1", "hello")]);
    assert_eq!(text(&send(&talk, &first).await.rest().await), "echo: hello");
    // The same message once more is the same turn.
    assert_eq!(text(&send(&talk, &first).await.rest().await), "echo: hello");
    talk.idle("my-chat").await;
    let second = submit("my-chat", &[user("m1", "hello"), user("m2", "again")]);
    assert_eq!(
        text(&send(&talk, &second).await.rest().await),
        "echo: again"
    );
    talk.idle("my-chat").await;
    assert_eq!(talk.said("my-chat").await.len(), 4);
    let other = talk.door.with("x-session-id", "other");
    assert_eq!(other.post("/api/chat", &first).await.status, 404);
    assert_eq!(talk.door.get("/api/chat/my-chat/stream").await.status, 204);
    assert_eq!(
        talk.door
            .post("/api/chat/my-chat/stop", &Value::Null)
            .await
            .status,
        204
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn results_in_the_last_message_answer_open_calls() {
    let talk = Talk::new().await;
    let chat = talk.chat().await;
    talk.agent
        .append(&chat, vec![said("look"), call("c1", "{}")])
        .await;
    let part = json!({"type": "tool-search", "toolCallId": "c1", "state": "output-available", "input": {}, "output": "found"});
    let assistant = json!({"id": "a1", "role": "assistant", "parts": [part]});
    let body = submit(&chat, &[user("m1", "look"), assistant]);
    let heard = send(&talk, &body).await.rest().await;
    assert_eq!(text(&heard), "echo: look");
    talk.idle(&chat).await;
    // Once it is answered there is nothing more to say.
    let again = talk.door.post("/api/chat", &body).await;
    assert_eq!(again.told(), (409, "NOTHING_TO_ANSWER".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_history_fits_up_to_its_bound() {
    let talk = Talk::new().await;
    let told = async |bytes: usize| {
        let mut body = json!({"id": "none", "messages": []}).to_string();
        body.push_str(&" ".repeat(bytes - body.len()));
        let request = talk.door.request(reqwest::Method::POST, "/api/chat");
        let request = request.header("content-type", "application/json");
        request.body(body).send().await.unwrap().status().as_u16()
    };
    assert_eq!(told(UI_REQUEST_BYTES_MAX).await, 404);
    assert_eq!(told(UI_REQUEST_BYTES_MAX + 1).await, 413);
}
