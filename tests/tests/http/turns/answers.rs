//! A turn: said, answered, kept, whoever listens.

use std::time::Instant;

use serde_json::{Value, json};

use super::ground::Talk;
use super::sse::{ask, kinds, listen, say, text};

/// A message of so many words.
fn words(count: usize) -> String {
    let words: Vec<String> = (0..count).map(|word| format!("w{word}")).collect();
    words.join(" ")
}

fn pair(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_is_answered_and_kept() {
    let talk = Talk::new().await;
    let chat = talk.chat().await;
    let heard = ask(&talk.door, &chat, &json!({"content": "hello there"})).await;
    assert_eq!(text(&heard), "echo: hello there");
    let kinds = kinds(&heard);
    assert_eq!(kinds.first().unwrap(), "start");
    assert_eq!(kinds.last().unwrap(), "finish");
    talk.idle(&chat).await;
    let parts = json!({"parts": [{"type": "text", "text": "and again"}]});
    ask(&talk.door, &chat, &parts).await;
    talk.idle(&chat).await;
    let expected = [
        pair("user", "hello there"),
        pair("assistant", "echo: hello there"),
        pair("user", "and again"),
        pair("assistant", "echo: and again"),
    ];
    assert_eq!(talk.said(&chat).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_the_page_stops_nothing() {
    let talk = Talk::new().await;
    let chat = talk.chat().await;
    let said = words(12);
    let mut page = say(&talk.door, &chat, &json!({"content": said})).await;
    page.next().await.unwrap();
    drop(page);
    talk.idle(&chat).await;
    let answer = format!("echo: {said}");
    assert_eq!(
        talk.said(&chat).await,
        [pair("user", &said), pair("assistant", &answer)]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_it_within_a_second_and_keeps_the_text() {
    let talk = Talk::new().await;
    let chat = talk.chat().await;
    let path = format!("/api/chats/{chat}/stop");
    assert_eq!(talk.door.post(&path, &Value::Null).await.status, 204);
    let mut page = say(&talk.door, &chat, &json!({"content": words(400)})).await;
    let mut heard = Vec::new();
    while !heard
        .iter()
        .any(|event: &super::sse::Event| event.data.contains("w3"))
    {
        heard.push(page.next().await.unwrap());
    }
    let asked = Instant::now();
    let stopped = talk.door.post(&path, &Value::Null).await.ok(202);
    assert_eq!(stopped["runId"], page.run);
    heard.extend(page.rest().await);
    let took = asked.elapsed();
    assert!(took.as_millis() < 1_000, "{took:?}");
    assert_eq!(kinds(&heard).last().unwrap(), "abort");
    talk.idle(&chat).await;
    let kept = talk.said(&chat).await.pop().unwrap();
    assert_eq!(kept, pair("assistant", &text(&heard)));
    assert_eq!(talk.door.post(&path, &Value::Null).await.status, 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_answer_at_a_time() {
    let talk = Talk::new().await;
    let chat = talk.chat().await;
    let mut page = say(&talk.door, &chat, &json!({"content": words(30)})).await;
    page.next().await.unwrap();
    let path = format!("/api/chats/{chat}/messages");
    let second = talk.door.post(&path, &json!({"content": "x"})).await;
    assert_eq!(second.told(), (409, "RUN_ACTIVE".to_owned()));
    assert_eq!(second.json()["metadata"]["run_id"], page.run);
    page.rest().await;
    talk.idle(&chat).await;
    assert_eq!(talk.said(&chat).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_hears_the_same_answer() {
    let talk = Talk::new().await;
    let chat = talk.chat().await;
    let body = json!({"content": words(5), "clientMessageId": "m1"});
    let first = ask(&talk.door, &chat, &body).await;
    let mut again = say(&talk.door, &chat, &body).await;
    assert_eq!(again.status, 200);
    assert_eq!(again.rest().await, first);
    let other = json!({"content": "other", "clientMessageId": "m1"});
    let path = format!("/api/chats/{chat}/messages");
    assert_eq!(talk.door.post(&path, &other).await.status, 409);
    assert_eq!(talk.said(&chat).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_a_rule_is_named() {
    let talk = Talk::new().await;
    let chat = talk.chat().await;
    let check = async |body: Value, expected: (u16, &str, &str)| {
        let answer = talk
            .door
            .post(&format!("/api/chats/{chat}/messages"), &body)
            .await;
        let (status, code) = answer.told();
        let problem = answer.json();
        let field = problem["field"].as_str().unwrap_or_default();
        assert_eq!((status, code.as_str(), field), expected, "{problem}");
    };
    check(json!({}), (400, "FIELD_MISSING", "content")).await;
    check(
        json!({"content": "a", "sessionId": "other"}),
        (400, "CALLER_AMBIGUOUS", "sessionId"),
    )
    .await;
    check(
        json!({"parts": [{"type": "text"}]}),
        (400, "FIELD_MISSING", "parts[0].text"),
    )
    .await;
    let result = json!({"toolResults": [{"toolCallId": "c", "output": 1}]});
    check(result, (409, "TOOL_CALL_NOT_OPEN", "toolResults[0]")).await;
    let approval = json!({"approvals": [{"toolCallId": "c", "approved": true}]});
    check(approval, (409, "TOOL_CALL_NOT_OPEN", "approvals")).await;
    let missing = talk
        .door
        .post("/api/chats/none/messages", &json!({"content": "a"}))
        .await;
    assert_eq!(missing.status, 404);
    assert_eq!(listen(&talk.door, &chat, None).await.status, 204);
    assert!(talk.said(&chat).await.is_empty());
}
