//! Runs that produced nothing: every endpoint of messages shows the turn with its outcome, never only the question.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};
use tests::eventually::eventually;

use super::fixture::TurnFixture;
use super::model::{Model, Reply};
use super::sse::{ask, chunks, say};
use crate::fixture::{list, text};

/// Longer than the test: these runs end before their first piece.
const NEVER: Duration = Duration::from_mins(10);

/// The answers by number of request.
async fn silent_model() -> Model {
    Model::start(|before| match before {
        0 => Reply::Empty("stop"),
        1 => Reply::Empty("content_filter"),
        2 => Reply::Refused(StatusCode::BAD_REQUEST, json!({"error": {"message": "no"}})),
        3 => Reply::Late(NEVER, "too late".to_owned()),
        _ => Reply::Text("fine".to_owned()),
    })
    .await
}

/// The last message of the chat in both forms: metadata and number of parts, outcome and error.
async fn last_shown(fixture: &TurnFixture, chat: &str) -> (Value, usize, Value) {
    let shown = fixture.client.get(&format!("/api/chats/{chat}")).await.ok(200);
    let last = list(&shown, "messages").last().unwrap().clone();
    assert_eq!(last["role"], "assistant", "{shown}");
    let path = format!("/v1/chat/sessions/{chat}/messages");
    let listed = list(&fixture.client.get(&path).await.ok(200), "messages").last().unwrap().clone();
    assert_eq!((&listed["id"], &listed["role"], &listed["content"]), (&last["id"], &last["role"], &json!("")));
    let parts = list(&last, "parts").len();
    let outcome = json!([listed["outcome"], listed["error"]]);
    (last["metadata"].clone(), parts, outcome)
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_without_output_are_shown_with_their_outcome() {
    let model = silent_model().await;
    let fixture = TurnFixture::with_model(&model, Vec::new(), |_| ()).await;
    let chat = fixture.chat().await;
    let check = async |expected: (&str, Option<&str>), shown: (Value, usize, Value)| {
        let (outcome, error) = expected;
        let metadata = json!({"outcome": outcome, "errorText": error});
        assert_eq!(shown, (metadata, 0, json!([outcome, error])));
    };
    for (question, expected) in [
        ("empty", ("completed", None)),
        ("filtered", ("completed", None)),
        ("refused", ("failed", Some("An error occurred."))),
    ] {
        let heard = ask(&fixture.client, &chat, &json!({"content": question})).await;
        fixture.idle(&chat).await;
        check(expected, last_shown(&fixture, &chat).await).await;
        // The message has the id that the stream announced.
        let shown = fixture.client.get(&format!("/api/chats/{chat}")).await.ok(200);
        let last = list(&shown, "messages").last().unwrap();
        assert_eq!(last["id"], chunks(&heard)[0]["messageId"]);
    }
    let page = say(&fixture.client, &chat, &json!({"content": "slow"})).await;
    eventually("the model's request", || async { (model.requests().len() == 4).then_some(()) }).await;
    let path = format!("/api/chats/{chat}/stop");
    let stopped = fixture.client.post(&path, &Value::Null).await.ok(202);
    assert_eq!(text(&stopped, "runId"), page.run);
    fixture.idle(&chat).await;
    check(("stopped", None), last_shown(&fixture, &chat).await).await;
    // An answer that is empty may be generated again; the next model reads no empty turns.
    let again = json!({"id": chat, "messages": [], "trigger": "regenerate-message"});
    assert_eq!(fixture.client.post("/api/chat", &again).await.status, 200);
    fixture.idle(&chat).await;
    let last = fixture.messages(&chat).await.pop().unwrap();
    assert_eq!(last, ("assistant".to_owned(), "fine".to_owned()));
}
