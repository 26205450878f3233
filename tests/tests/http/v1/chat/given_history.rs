//! Turns by a whole history that the caller gives, kept in a session: real runs, whoever listens and however often they ask.

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tests::door::Answer;
use wire::proto::operate::v1 as proto;

use crate::ground::{list, text};
use crate::turns::ground::Talk;
use crate::turns::sse::{Listening, kinds, text as text_of};
use tests::model::{Model, Reply};

async fn session(talk: &Talk) -> String {
    let begun = talk.door.post("/v1/chat/sessions", &json!({})).await;
    text(&begun.ok(201), "session_id").to_owned()
}

/// What is kept in a session.
async fn kept(talk: &Talk, session: &str) -> Vec<String> {
    let path = format!("/v1/chat/sessions/{session}/messages");
    let shown = talk.door.get(&path).await.ok(200);
    let told = list(&shown, "messages").iter();
    told.map(|one| text(one, "content").to_owned()).collect()
}

fn history(session: &str, last: &str) -> Value {
    json!({"session_id": session, "messages": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": last},
    ]})
}

async fn asked(talk: &Talk, key: &str, body: &Value) -> Answer {
    let door = talk.door.with("idempotency-key", key);
    door.post("/v1/chat", body).await
}

/// A model server that never says the same twice.
async fn counting() -> Model {
    Model::start(|before| Reply::Text(format!("answer {before}"))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_histories_that_come_at_once_one_is_kept() {
    let talk = Talk::new().await;
    let session = session(&talk).await;
    let body = history(&session, "three and quite a few words more to say");
    let answers = join_all((0..4).map(|_| talk.door.post("/v1/chat", &body))).await;
    let told: Vec<(u16, String)> = answers.iter().map(Answer::told).collect();
    let answered = told.iter().filter(|(status, _)| *status == 200).count();
    assert_eq!(answered, 1, "{told:?}");
    assert!(
        told.iter().all(|(status, _)| [200, 409].contains(status)),
        "{told:?}"
    );
    talk.idle(&session).await;
    assert_eq!(kept(&talk, &session).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_gets_the_first_answer_and_asks_no_model() {
    let model = counting().await;
    let talk = Talk::answered_by(&model, Vec::new(), |_| ()).await;
    let session = session(&talk).await;
    let (key, body) = (uuid::Uuid::now_v7().to_string(), history(&session, "three"));
    let first = asked(&talk, &key, &body).await.ok(200);
    assert_eq!(text(&first, "response"), "answer 0");
    talk.idle(&session).await;
    assert_eq!(asked(&talk, &key, &body).await.ok(200), first);
    // Also once others have spoken since.
    let other = json!({"session_id": session, "message": "and then?"});
    let other = talk.door.post("/v1/chat", &other).await.ok(200);
    assert_eq!(text(&other, "response"), "answer 1");
    talk.idle(&session).await;
    assert_eq!(asked(&talk, &key, &body).await.ok(200), first);
    let reused = asked(&talk, &key, &history(&session, "something else")).await;
    assert_eq!(reused.told(), (409, "IDEMPOTENCY_KEY_REUSED".to_owned()));
    assert_eq!(model.asked().len(), 2);
    let expected = ["one", "two", "three", "answer 0", "and then?", "answer 1"];
    assert_eq!(kept(&talk, &session).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archived_session_is_told_before_the_model_is_asked() {
    let model = counting().await;
    let talk = Talk::answered_by(&model, Vec::new(), |_| ()).await;
    let session = session(&talk).await;
    let path = format!("/api/chats/{session}");
    talk.door
        .patch(&path, &json!({"archived": true}))
        .await
        .ok(200);
    let refused = talk
        .door
        .post("/v1/chat", &history(&session, "three"))
        .await;
    assert_eq!(refused.told(), (409, "CONVERSATION_ARCHIVED".to_owned()));
    assert!(model.asked().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_loses_nothing() {
    let talk = Talk::new().await;
    let session = session(&talk).await;
    let mut body = history(&session, "three and quite a few words more to say");
    body["stream"] = json!(true);
    let request = talk.door.request(Method::POST, "/v1/chat").json(&body);
    let mut listening = Listening::open(request).await;
    listening.next().await.unwrap();
    let run = listening.run.clone();
    drop(listening);
    let path = format!("/api/chats/{session}/stream?run={run}");
    let mut back = Listening::open(talk.door.request(Method::GET, &path)).await;
    let heard = back.rest().await;
    assert_eq!(
        text_of(&heard),
        "echo: three and quite a few words more to say"
    );
    assert_eq!(kinds(&heard).last().unwrap(), "finish");
    talk.idle(&session).await;
    assert_eq!(kept(&talk, &session).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_step_reads_the_history_as_given_and_what_the_run_has_come_to() {
    let model = Model::start(|before| match before {
        0 => Reply::Text("stored".to_owned()),
        1 => Reply::Call("c1", "clock"),
        _ => Reply::Text("it is noon".to_owned()),
    })
    .await;
    let clock = proto::ToolSettings {
        tool_name: "clock".to_owned(),
        input_schema_json: "{}".to_owned(),
        // Nobody is there: that is a result too.
        webhook_url: "http://127.0.0.1:1/clock".to_owned(),
        ..proto::ToolSettings::default()
    };
    let talk = Talk::answered_by(&model, vec![clock], |_| ()).await;
    let session = session(&talk).await;
    let before = json!({"session_id": session, "message": "not among what is given"});
    talk.door.post("/v1/chat", &before).await.ok(200);
    talk.idle(&session).await;
    let answer = talk
        .door
        .post("/v1/chat", &history(&session, "what time is it?"))
        .await;
    assert_eq!(text(&answer.ok(200), "response"), "it is noon");
    let roles = |body: &Value| -> Vec<String> {
        let messages = list(body, "messages").iter();
        messages
            .map(|message| text(message, "role").to_owned())
            .collect()
    };
    let asked = model.asked();
    let given = ["system", "user", "assistant", "user"];
    assert_eq!(roles(&asked[1]), given);
    assert_eq!(roles(&asked[2])[..4], given);
    assert_eq!(roles(&asked[2])[4..], ["assistant", "tool"]);
    assert!(!asked[2].to_string().contains("not among"));
}
