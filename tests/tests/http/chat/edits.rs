//! Messages that are edited and answers that are made anew, as the AI SDK's transport asks for them, under the same chat id.

use serde_json::{Value, json};
use tests::events::user as said;

use crate::chat::ai_sdk::{send, submit, user};
use crate::ground::list;
use crate::turns::ground::Talk;
use crate::turns::sse::text;

/// What a page asks who wants another answer.
fn regenerate(chat: &str, message_id: Option<&str>) -> Value {
    json!({"id": chat, "messages": [], "trigger": "regenerate-message", "messageId": message_id})
}

/// What a page asks whose user has changed a message.
fn edit(chat: &str, id: &str, text: &str) -> Value {
    let mut body = submit(chat, &[user(id, text)]);
    body["messageId"] = json!(id);
    body
}

/// Sends it, and waits for the end of the answer.
async fn answered(talk: &Talk, chat: &str, body: &Value) -> String {
    let mut listening = send(talk, body).await;
    let heard = listening.rest().await;
    assert_eq!(listening.status, 200, "{body} {heard:?}");
    talk.idle(chat).await;
    text(&heard)
}

async fn texts(talk: &Talk, chat: &str) -> Vec<String> {
    let said = talk.said(chat).await.into_iter();
    said.map(|(_, text)| text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_answer_takes_the_place_of_the_first() {
    let talk = Talk::new().await;
    for (id, said) in [("m1", "one"), ("m2", "two"), ("m3", "three")] {
        answered(&talk, "c", &submit("c", &[user(id, said)])).await;
    }
    let shown = talk.door.get("/api/chats/c").await.ok(200);
    let answers: Vec<String> = list(&shown, "messages")
        .iter()
        .filter(|message| message["role"] == "assistant")
        .map(|message| message["id"].as_str().unwrap().to_owned())
        .collect();
    // The last answer, without and with its name.
    assert_eq!(
        answered(&talk, "c", &regenerate("c", None)).await,
        "echo: three"
    );
    let all = [
        "one",
        "echo: one",
        "two",
        "echo: two",
        "three",
        "echo: three",
    ];
    assert_eq!(texts(&talk, "c").await, all);
    let again = talk
        .door
        .post("/api/chat", &regenerate("c", Some(&answers[2])))
        .await;
    assert_eq!(again.told(), (404, "MESSAGE_NOT_FOUND".to_owned()));
    // An earlier one, by the answer and by what it answers: what came after it is gone.
    assert_eq!(
        answered(&talk, "c", &regenerate("c", Some(&answers[1]))).await,
        "echo: two"
    );
    assert_eq!(texts(&talk, "c").await, all[..4]);
    assert_eq!(
        answered(&talk, "c", &regenerate("c", Some("m1"))).await,
        "echo: one"
    );
    assert_eq!(texts(&talk, "c").await, all[..2]);
    // The model reads what is shown, and nothing else: it counts five words.
    answered(&talk, "c", &submit("c", &[user("m4", "and four more")])).await;
    let tokens = used(&talk, "c").await;
    assert_eq!(tokens.last(), Some(&(1 + 2 + 3)), "{tokens:?}");
    // A message that nobody has answered is answered where it stands.
    talk.agent.append("c", vec![said("unanswered")]).await;
    assert_eq!(
        answered(&talk, "c", &regenerate("c", None)).await,
        "echo: unanswered"
    );
    let shown = texts(&talk, "c").await;
    assert_eq!(shown[..2], all[..2]);
    assert_eq!(
        shown[2..],
        [
            "and four more",
            "echo: and four more",
            "unanswered",
            "echo: unanswered"
        ]
    );
}

/// A stream ends a moment before its answer is recorded: who wants another one at once gets one, and not both.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_made_anew_the_moment_it_ends() {
    const CHATS: usize = 24;
    let talk = Talk::new().await;
    for number in 0..CHATS {
        let chat = format!("c-{number}");
        let mut first = send(&talk, &submit(&chat, &[user("m1", "one")])).await;
        first.rest().await;
        let named = (number % 2 == 0).then_some(first.run.as_str());
        assert_eq!(
            answered(&talk, &chat, &regenerate(&chat, named)).await,
            "echo: one"
        );
        assert_eq!(texts(&talk, &chat).await, ["one", "echo: one"], "{chat}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_message_takes_the_place_of_the_first() {
    let talk = Talk::new().await;
    for (id, said) in [("m1", "one"), ("m2", "two")] {
        answered(&talk, "c", &submit("c", &[user(id, said)])).await;
    }
    assert_eq!(
        answered(&talk, "c", &edit("c", "m2", "zwei")).await,
        "echo: zwei"
    );
    assert_eq!(
        texts(&talk, "c").await,
        ["one", "echo: one", "zwei", "echo: zwei"]
    );
    // The same message again, the one before it, and by the record's own id, as a page names it that was loaded anew.
    assert_eq!(
        answered(&talk, "c", &edit("c", "m2", "deux")).await,
        "echo: deux"
    );
    assert_eq!(
        answered(&talk, "c", &edit("c", "m1", "un")).await,
        "echo: un"
    );
    let shown = talk.door.get("/api/chats/c").await.ok(200);
    let first = list(&shown, "messages")[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        answered(&talk, "c", &edit("c", &first, "uno")).await,
        "echo: uno"
    );
    assert_eq!(texts(&talk, "c").await, ["uno", "echo: uno"]);
    assert_eq!(
        answered(&talk, "c", &submit("c", &[user("m3", "due")])).await,
        "echo: due"
    );
    check_pages(&talk).await;
    check_record(&talk).await;
}

/// In pages too, from the newest back, and from where a page once ended.
async fn check_pages(talk: &Talk) {
    let last = talk.door.get("/api/chats/c?limit=1").await.ok(200);
    assert_eq!(list(&last, "messages").len(), 2);
    let before = last["nextBefore"].as_u64().unwrap();
    for (before, expected) in [
        (before, vec!["uno"]),
        (before - 1, vec!["uno"]),
        (12, vec![]),
    ] {
        let path = format!("/api/chats/c?limit=1&before={before}");
        let page = talk.door.get(&path).await.ok(200);
        let said = list(&page, "messages").iter();
        let said = said.filter(|message| message["role"] == "user");
        let said: Vec<&str> = said
            .map(|message| message["parts"][0]["text"].as_str().unwrap())
            .collect();
        assert_eq!(said, expected, "{before} {page}");
    }
}

/// The record has all that was ever said, and a fork reads it.
async fn check_record(talk: &Talk) {
    let exported = talk
        .door
        .get("/api/chats/c/export?format=json")
        .await
        .ok(200);
    let events = list(&exported, "events");
    let count = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((count("MessageAppended"), count("HistoryRewound")), (14, 4));
    let rewound = events
        .iter()
        .find(|event| event["type"] == "HistoryRewound")
        .unwrap();
    let before = rewound["version"].as_u64().unwrap() - 1;
    let fork = talk
        .door
        .post("/api/chats/c/fork", &json!({"version": before}))
        .await
        .ok(201);
    let fork = fork["id"].as_str().unwrap();
    assert_eq!(
        texts(talk, fork).await,
        ["one", "echo: one", "two", "echo: two"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_gone_back_to_is_named() {
    let talk = Talk::new().await;
    let refused = async |body: Value, expected: (u16, &str)| {
        let answer = talk.door.post("/api/chat", &body).await;
        let (status, code) = answer.told();
        assert_eq!((status, code.as_str()), expected);
    };
    refused(regenerate("c", None), (404, "CONVERSATION_NOT_FOUND")).await;
    refused(edit("c", "m1", "x"), (404, "CONVERSATION_NOT_FOUND")).await;
    let long = "w ".repeat(400);
    let mut page = send(&talk, &submit("c", &[user("m1", &long)])).await;
    page.next().await.unwrap();
    refused(regenerate("c", Some("none")), (404, "MESSAGE_NOT_FOUND")).await;
    refused(edit("c", "none", "x"), (404, "MESSAGE_NOT_FOUND")).await;
    // While the answer is made, it is the only one.
    refused(regenerate("c", None), (409, "RUN_ACTIVE")).await;
    refused(edit("c", "m1", "x"), (409, "RUN_ACTIVE")).await;
    assert_eq!(
        talk.door
            .post("/api/chat/c/stop", &Value::Null)
            .await
            .status,
        202
    );
    page.rest().await;
    talk.idle("c").await;
    assert_eq!(
        answered(&talk, "c", &edit("c", "m1", "short")).await,
        "echo: short"
    );
    refused(submit("", &[user("m", "x")]), (400, "FIELD_MISSING")).await;
    refused(json!({"id": "c"}), (400, "FIELD_MISSING")).await;
}

/// The tokens that the answers of a chat were made from, in order.
async fn used(talk: &Talk, chat: &str) -> Vec<u64> {
    let path = format!("/api/chats/{chat}/export?format=json");
    let exported = talk.door.get(&path).await.ok(200);
    let events = list(&exported, "events").iter();
    events
        .filter_map(|event| event["usage"]["inputTokens"].as_u64())
        .collect()
}
