//! A turn: the message, its answer, and the stored chat, independent of connections.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::fixture::TurnFixture;
use super::sse::{ask, kinds, listen, say, text};

/// A message with this many words.
fn words(count: usize) -> String {
    let words: Vec<String> = (0..count).map(|word| format!("w{word}")).collect();
    words.join(" ")
}

fn pair(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_answered_and_stored() {
    let fixture = TurnFixture::new().await;
    let chat = fixture.chat().await;
    let heard = ask(&fixture.client, &chat, &json!({"content": "hello there"})).await;
    assert_eq!(text(&heard), "echo: hello there");
    let kinds = kinds(&heard);
    assert_eq!(kinds.first().unwrap(), "start");
    assert_eq!(kinds.last().unwrap(), "finish");
    fixture.idle(&chat).await;
    let parts = json!({"parts": [{"type": "text", "text": "and again"}]});
    ask(&fixture.client, &chat, &parts).await;
    fixture.idle(&chat).await;
    let expected = [
        pair("user", "hello there"),
        pair("assistant", "echo: hello there"),
        pair("user", "and again"),
        pair("assistant", "echo: and again"),
    ];
    assert_eq!(fixture.messages(&chat).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_continue_after_the_page_closes() {
    let fixture = TurnFixture::new().await;
    let chat = fixture.chat().await;
    let question = words(12);
    let mut page = say(&fixture.client, &chat, &json!({"content": question})).await;
    page.next().await.unwrap();
    drop(page);
    fixture.idle(&chat).await;
    let answer = format!("echo: {question}");
    assert_eq!(fixture.messages(&chat).await, [pair("user", &question), pair("assistant", &answer)]);
}

/// The limit of a stop on a busy machine. The rest of the answer takes 16 s.
const STOP_MAX: Duration = Duration::from_secs(8);

#[tokio::test(flavor = "multi_thread")]
async fn stops_end_runs_long_before_their_answers_and_keep_the_text() {
    let fixture = TurnFixture::new().await;
    let chat = fixture.chat().await;
    let path = format!("/api/chats/{chat}/stop");
    assert_eq!(fixture.client.post(&path, &Value::Null).await.status, 204);
    let mut page = say(&fixture.client, &chat, &json!({"content": words(400)})).await;
    let mut heard = Vec::new();
    while !heard.iter().any(|event: &super::sse::Event| event.data.contains("w3")) {
        heard.push(page.next().await.unwrap());
    }
    let asked = Instant::now();
    let stopped = fixture.client.post(&path, &Value::Null).await.ok(202);
    assert_eq!(stopped["runId"], page.run);
    heard.extend(page.rest().await);
    let took = asked.elapsed();
    assert!(took < STOP_MAX, "{took:?}");
    assert_eq!(kinds(&heard).last().unwrap(), "abort");
    fixture.idle(&chat).await;
    let kept = fixture.messages(&chat).await.pop().unwrap();
    assert_eq!(kept, pair("assistant", &text(&heard)));
    assert_eq!(fixture.client.post(&path, &Value::Null).await.status, 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_answer_at_a_time() {
    let fixture = TurnFixture::new().await;
    let chat = fixture.chat().await;
    let mut page = say(&fixture.client, &chat, &json!({"content": words(30)})).await;
    page.next().await.unwrap();
    let path = format!("/api/chats/{chat}/messages");
    let second = fixture.client.post(&path, &json!({"content": "x"})).await;
    assert_eq!(second.status_and_code(), (409, "RUN_ACTIVE".to_owned()));
    assert_eq!(second.json()["metadata"]["run_id"], page.run);
    page.rest().await;
    fixture.idle(&chat).await;
    assert_eq!(fixture.messages(&chat).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_stream_the_same_answer() {
    let fixture = TurnFixture::new().await;
    let chat = fixture.chat().await;
    let body = json!({"content": words(5), "clientMessageId": "m1"});
    let first = ask(&fixture.client, &chat, &body).await;
    let mut again = say(&fixture.client, &chat, &body).await;
    assert_eq!(again.status, 200);
    assert_eq!(again.rest().await, first);
    let other = json!({"content": "other", "clientMessageId": "m1"});
    let path = format!("/api/chats/{chat}/messages");
    assert_eq!(fixture.client.post(&path, &other).await.status, 409);
    assert_eq!(fixture.messages(&chat).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_messages_are_rejected_with_their_field() {
    let fixture = TurnFixture::new().await;
    let chat = fixture.chat().await;
    let check = async |body: Value, expected: (u16, &str, &str)| {
        let answer = fixture.client.post(&format!("/api/chats/{chat}/messages"), &body).await;
        let (status, code) = answer.status_and_code();
        let problem = answer.json();
        let field = problem["field"].as_str().unwrap_or_default();
        assert_eq!((status, code.as_str(), field), expected, "{problem}");
    };
    check(json!({}), (400, "FIELD_MISSING", "content")).await;
    check(json!({"content": "a", "sessionId": "other"}), (400, "CALLER_AMBIGUOUS", "sessionId")).await;
    check(json!({"parts": [{"type": "text"}]}), (400, "FIELD_MISSING", "parts[0].text")).await;
    let result = json!({"toolResults": [{"toolCallId": "c", "output": 1}]});
    check(result, (409, "TOOL_CALL_NOT_OPEN", "toolResults[0]")).await;
    let approval = json!({"approvals": [{"toolCallId": "c", "approved": true}]});
    check(approval, (409, "TOOL_CALL_NOT_OPEN", "approvals")).await;
    let missing = fixture.client.post("/api/chats/none/messages", &json!({"content": "a"})).await;
    assert_eq!(missing.status, 404);
    assert_eq!(listen(&fixture.client, &chat, None).await.status, 204);
    assert!(fixture.messages(&chat).await.is_empty());
}
