//! Edited messages and regenerated answers, as the AI SDK's transport requests them, with the same chat id.

use serde_json::{Value, json};
use tests::events::user as event;

use crate::chat::ai_sdk::{send, submit, user};
use crate::fixture::list;
use crate::turns::fixture::TurnFixture;
use crate::turns::sse::text;

/// The request for another answer.
fn regenerate(chat: &str, message_id: Option<&str>) -> Value {
    json!({"id": chat, "messages": [], "trigger": "regenerate-message", "messageId": message_id})
}

/// The request with a changed message.
fn edit(chat: &str, id: &str, text: &str) -> Value {
    let mut body = submit(chat, &[user(id, text)]);
    body["messageId"] = json!(id);
    body
}

/// Sends the request, and waits for the end of the answer.
async fn reply_to(fixture: &TurnFixture, chat: &str, body: &Value) -> String {
    let mut listening = send(fixture, body).await;
    let heard = listening.rest().await;
    assert_eq!(listening.status, 200, "{body} {heard:?}");
    fixture.idle(chat).await;
    text(&heard)
}

async fn texts(fixture: &TurnFixture, chat: &str) -> Vec<String> {
    let messages = fixture.messages(chat).await.into_iter();
    messages.map(|(_, text)| text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn regenerated_answers_replace_the_first() {
    let fixture = TurnFixture::new().await;
    for (id, text) in [("m1", "one"), ("m2", "two"), ("m3", "three")] {
        reply_to(&fixture, "c", &submit("c", &[user(id, text)])).await;
    }
    let shown = fixture.client.get("/api/chats/c").await.ok(200);
    let answers: Vec<String> = list(&shown, "messages")
        .iter()
        .filter(|message| message["role"] == "assistant")
        .map(|message| message["id"].as_str().unwrap().to_owned())
        .collect();
    // The last answer, without and with its id.
    assert_eq!(reply_to(&fixture, "c", &regenerate("c", None)).await, "echo: three");
    let all = ["one", "echo: one", "two", "echo: two", "three", "echo: three"];
    assert_eq!(texts(&fixture, "c").await, all);
    let again = fixture.client.post("/api/chat", &regenerate("c", Some(&answers[2]))).await;
    assert_eq!(again.status_and_code(), (404, "MESSAGE_NOT_FOUND".to_owned()));
    // An earlier answer, by its id and by the message before it: later messages are dropped.
    assert_eq!(reply_to(&fixture, "c", &regenerate("c", Some(&answers[1]))).await, "echo: two");
    assert_eq!(texts(&fixture, "c").await, all[..4]);
    assert_eq!(reply_to(&fixture, "c", &regenerate("c", Some("m1"))).await, "echo: one");
    assert_eq!(texts(&fixture, "c").await, all[..2]);
    // The model reads exactly the shown messages: it counts five words.
    reply_to(&fixture, "c", &submit("c", &[user("m4", "and four more")])).await;
    let tokens = input_tokens(&fixture, "c").await;
    assert_eq!(tokens.last(), Some(&(1 + 2 + 3)), "{tokens:?}");
    // A message without an answer is answered in place.
    fixture.agent.append(shown["recordId"].as_str().unwrap(), vec![event("unanswered")]).await;
    assert_eq!(reply_to(&fixture, "c", &regenerate("c", None)).await, "echo: unanswered");
    let shown = texts(&fixture, "c").await;
    assert_eq!(shown[..2], all[..2]);
    assert_eq!(shown[2..], ["and four more", "echo: and four more", "unanswered", "echo: unanswered"]);
}

/// A stream ends shortly before its answer is recorded: an immediate request replaces the answer, and does not add a
/// second one.
#[tokio::test(flavor = "multi_thread")]
async fn answers_can_be_regenerated_as_soon_as_they_end() {
    const CHATS: usize = 24;
    let fixture = TurnFixture::new().await;
    for number in 0..CHATS {
        let chat = format!("c-{number}");
        let mut first = send(&fixture, &submit(&chat, &[user("m1", "one")])).await;
        first.rest().await;
        let named = (number % 2 == 0).then_some(first.run.as_str());
        assert_eq!(reply_to(&fixture, &chat, &regenerate(&chat, named)).await, "echo: one");
        assert_eq!(texts(&fixture, &chat).await, ["one", "echo: one"], "{chat}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn edited_messages_replace_the_original() {
    let fixture = TurnFixture::new().await;
    for (id, text) in [("m1", "one"), ("m2", "two")] {
        reply_to(&fixture, "c", &submit("c", &[user(id, text)])).await;
    }
    assert_eq!(reply_to(&fixture, "c", &edit("c", "m2", "zwei")).await, "echo: zwei");
    assert_eq!(texts(&fixture, "c").await, ["one", "echo: one", "zwei", "echo: zwei"]);
    // The same message again, an earlier one, and one by the record's id, as after a reload of the page.
    assert_eq!(reply_to(&fixture, "c", &edit("c", "m2", "deux")).await, "echo: deux");
    assert_eq!(reply_to(&fixture, "c", &edit("c", "m1", "un")).await, "echo: un");
    let shown = fixture.client.get("/api/chats/c").await.ok(200);
    let first = list(&shown, "messages")[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(reply_to(&fixture, "c", &edit("c", &first, "uno")).await, "echo: uno");
    assert_eq!(texts(&fixture, "c").await, ["uno", "echo: uno"]);
    assert_eq!(reply_to(&fixture, "c", &submit("c", &[user("m3", "due")])).await, "echo: due");
    check_pages(&fixture).await;
    check_record(&fixture).await;
}

/// Also in pages, from the newest to the oldest, and from the end of an earlier page.
async fn check_pages(fixture: &TurnFixture) {
    let last = fixture.client.get("/api/chats/c?limit=1").await.ok(200);
    assert_eq!(list(&last, "messages").len(), 2);
    let before = last["nextBefore"].as_u64().unwrap();
    for (before, expected) in [(before, vec!["uno"]), (before - 1, vec!["uno"]), (12, vec![])] {
        let path = format!("/api/chats/c?limit=1&before={before}");
        let page = fixture.client.get(&path).await.ok(200);
        let texts: Vec<&str> = list(&page, "messages")
            .iter()
            .filter(|message| message["role"] == "user")
            .map(|message| message["parts"][0]["text"].as_str().unwrap())
            .collect();
        assert_eq!(texts, expected, "{before} {page}");
    }
}

/// The record contains all messages, and a fork reads them.
async fn check_record(fixture: &TurnFixture) {
    let exported = fixture.client.get("/api/chats/c/export?format=json").await.ok(200);
    let events = list(&exported, "events");
    let count = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((count("MessageAppended"), count("HistoryRewound")), (14, 4));
    let rewound = events.iter().find(|event| event["type"] == "HistoryRewound").unwrap();
    let before = rewound["version"].as_u64().unwrap() - 1;
    let forked = fixture.client.post("/api/chats/c/fork", &json!({"version": before})).await.ok(201);
    let fork = forked["id"].as_str().unwrap();
    assert_eq!(texts(fixture, fork).await, ["one", "echo: one", "two", "echo: two"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_edit_targets_are_rejected() {
    let fixture = TurnFixture::new().await;
    let refused = async |body: Value, expected: (u16, &str)| {
        let answer = fixture.client.post("/api/chat", &body).await;
        let (status, code) = answer.status_and_code();
        assert_eq!((status, code.as_str()), expected);
    };
    refused(regenerate("c", None), (404, "CONVERSATION_NOT_FOUND")).await;
    refused(edit("c", "m1", "x"), (404, "CONVERSATION_NOT_FOUND")).await;
    let long = "w ".repeat(400);
    let mut page = send(&fixture, &submit("c", &[user("m1", &long)])).await;
    page.next().await.unwrap();
    refused(regenerate("c", Some("none")), (404, "MESSAGE_NOT_FOUND")).await;
    refused(edit("c", "none", "x"), (404, "MESSAGE_NOT_FOUND")).await;
    // During the answer, no other one can start.
    refused(regenerate("c", None), (409, "RUN_ACTIVE")).await;
    refused(edit("c", "m1", "x"), (409, "RUN_ACTIVE")).await;
    assert_eq!(fixture.client.post("/api/chat/c/stop", &Value::Null).await.status, 202);
    page.rest().await;
    fixture.idle("c").await;
    assert_eq!(reply_to(&fixture, "c", &edit("c", "m1", "short")).await, "echo: short");
    refused(submit("", &[user("m", "x")]), (400, "FIELD_MISSING")).await;
    refused(json!({"id": "c"}), (400, "FIELD_MISSING")).await;
}

/// The input tokens of a chat's answers, in order.
async fn input_tokens(fixture: &TurnFixture, chat: &str) -> Vec<u64> {
    let path = format!("/api/chats/{chat}/export?format=json");
    let exported = fixture.client.get(&path).await.ok(200);
    let events = list(&exported, "events").iter();
    events.filter_map(|event| event["usage"]["inputTokens"].as_u64()).collect()
}
