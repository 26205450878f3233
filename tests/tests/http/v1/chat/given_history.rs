//! Turns with a whole given history in a session are real runs, also without a listener and after retries.

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tests::http_client::Answer;
use wire::proto::operate::v1 as proto;

use crate::fixture::{list, text};
use crate::turns::fixture::TurnFixture;
use crate::turns::sse::{EventStream, kinds, text as text_of};
use tests::model::{Model, Reply};

async fn session(fixture: &TurnFixture) -> String {
    let begun = fixture.client.post("/v1/chat/sessions", &json!({})).await;
    text(&begun.ok(201), "session_id").to_owned()
}

/// The contents of a session's messages.
async fn stored_contents(fixture: &TurnFixture, session: &str) -> Vec<String> {
    let path = format!("/v1/chat/sessions/{session}/messages");
    let shown = fixture.client.get(&path).await.ok(200);
    let messages = list(&shown, "messages").iter();
    messages.map(|one| text(one, "content").to_owned()).collect()
}

fn history(session: &str, last: &str) -> Value {
    json!({"session_id": session, "messages": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": last},
    ]})
}

async fn send_with_key(fixture: &TurnFixture, key: &str, body: &Value) -> Answer {
    let client = fixture.client.with("idempotency-key", key);
    client.post("/v1/chat", body).await
}

/// A model server that returns a different text each time.
async fn counting_model() -> Model {
    Model::start(|before| Reply::Text(format!("answer {before}"))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_histories_are_stored_once() {
    let fixture = TurnFixture::new().await;
    let session = session(&fixture).await;
    let body = history(&session, "three and quite a few words more to say");
    let answers = join_all((0..4).map(|_| fixture.client.post("/v1/chat", &body))).await;
    let statuses: Vec<(u16, String)> = answers.iter().map(Answer::status_and_code).collect();
    let answered = statuses.iter().filter(|(status, _)| *status == 200).count();
    assert_eq!(answered, 1, "{statuses:?}");
    assert!(statuses.iter().all(|(status, _)| [200, 409].contains(status)), "{statuses:?}");
    fixture.idle(&session).await;
    assert_eq!(stored_contents(&fixture, &session).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_get_the_first_answer_without_a_model_call() {
    let model = counting_model().await;
    let fixture = TurnFixture::with_model(&model, Vec::new(), |_| ()).await;
    let session = session(&fixture).await;
    let (key, body) = (uuid::Uuid::now_v7().to_string(), history(&session, "three"));
    let first = send_with_key(&fixture, &key, &body).await.ok(200);
    assert_eq!(text(&first, "response"), "answer 0");
    fixture.idle(&session).await;
    assert_eq!(send_with_key(&fixture, &key, &body).await.ok(200), first);
    // Also after messages of others.
    let other = json!({"session_id": session, "message": "and then?"});
    let other = fixture.client.post("/v1/chat", &other).await.ok(200);
    assert_eq!(text(&other, "response"), "answer 1");
    fixture.idle(&session).await;
    assert_eq!(send_with_key(&fixture, &key, &body).await.ok(200), first);
    let reused = send_with_key(&fixture, &key, &history(&session, "something else")).await;
    assert_eq!(reused.status_and_code(), (409, "IDEMPOTENCY_KEY_REUSED".to_owned()));
    assert_eq!(model.requests().len(), 2);
    let expected = ["one", "two", "three", "answer 0", "and then?", "answer 1"];
    assert_eq!(stored_contents(&fixture, &session).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn archived_sessions_are_rejected_before_the_model_call() {
    let model = counting_model().await;
    let fixture = TurnFixture::with_model(&model, Vec::new(), |_| ()).await;
    let session = session(&fixture).await;
    let path = format!("/api/chats/{session}");
    fixture.client.patch(&path, &json!({"archived": true})).await.ok(200);
    let refused = fixture.client.post("/v1/chat", &history(&session, "three")).await;
    assert_eq!(refused.status_and_code(), (409, "CONVERSATION_ARCHIVED".to_owned()));
    assert!(model.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn disconnected_clients_lose_nothing() {
    let fixture = TurnFixture::new().await;
    let session = session(&fixture).await;
    let mut body = history(&session, "three and quite a few words more to say");
    body["stream"] = json!(true);
    let request = fixture.client.request(Method::POST, "/v1/chat").json(&body);
    let mut listening = EventStream::open(request).await;
    listening.next().await.unwrap();
    let run = listening.run.clone();
    drop(listening);
    let path = format!("/api/chats/{session}/stream?run={run}");
    let mut back = EventStream::open(fixture.client.request(Method::GET, &path)).await;
    let heard = back.rest().await;
    assert_eq!(text_of(&heard), "echo: three and quite a few words more to say");
    assert_eq!(kinds(&heard).last().unwrap(), "finish");
    fixture.idle(&session).await;
    assert_eq!(stored_contents(&fixture, &session).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_step_reads_the_given_history_and_earlier_steps() {
    let model = Model::start(|before| match before {
        0 => Reply::Text("stored".to_owned()),
        1 => Reply::Call("c1", "clock"),
        _ => Reply::Text("it is noon".to_owned()),
    })
    .await;
    let clock = proto::ToolSettings {
        tool_name: "clock".to_owned(),
        input_schema_json: "{}".to_owned(),
        // A missing person is also a result.
        webhook_url: "http://127.0.0.1:1/clock".to_owned(),
        ..proto::ToolSettings::default()
    };
    let fixture = TurnFixture::with_model(&model, vec![clock], |_| ()).await;
    let session = session(&fixture).await;
    let before = json!({"session_id": session, "message": "not among what is given"});
    fixture.client.post("/v1/chat", &before).await.ok(200);
    fixture.idle(&session).await;
    let answer = fixture.client.post("/v1/chat", &history(&session, "what time is it?")).await;
    assert_eq!(text(&answer.ok(200), "response"), "it is noon");
    let roles = |body: &Value| -> Vec<String> {
        let messages = list(body, "messages").iter();
        messages.map(|message| text(message, "role").to_owned()).collect()
    };
    let asked = model.requests();
    let given = ["system", "user", "assistant", "user"];
    assert_eq!(roles(&asked[1]), given);
    assert_eq!(roles(&asked[2])[..4], given);
    assert_eq!(roles(&asked[2])[4..], ["assistant", "tool"]);
    assert!(!asked[2].to_string().contains("not among"));
}
