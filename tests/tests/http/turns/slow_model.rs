//! A model whose first piece takes longer than the request timeout: every form of a turn waits for it.

use std::time::Duration;

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::TurnFixture;
use super::model::{Model, Reply};
use super::sse::{EventStream, text as text_of};
use crate::fixture::text;

const REQUEST_TIMEOUT_MS: u64 = 5_000;
const FIRST_PIECE_AFTER: Duration = Duration::from_millis(6_500);

#[tokio::test(flavor = "multi_thread")]
async fn late_first_pieces_are_awaited_in_every_form() {
    let model = Model::start(|_| Reply::Late(FIRST_PIECE_AFTER, "at last".to_owned())).await;
    let fixture = TurnFixture::with_model(&model, Vec::new(), |gateway| {
        gateway.http.server.request_timeout_ms = REQUEST_TIMEOUT_MS;
    })
    .await;
    let turns = [json!({"message": "hello"}), json!({"messages": [{"role": "user", "content": "hello"}]})];
    let mut asked = Vec::new();
    for turn in turns {
        for session in [Value::Null, new_session(&fixture).await] {
            let mut body = turn.clone();
            body["session_id"] = session;
            asked.push(answer_to(&fixture, body.clone(), false));
            if body["session_id"] != Value::Null {
                body["session_id"] = new_session(&fixture).await;
            }
            asked.push(answer_to(&fixture, body, true));
        }
    }
    for (form, text) in join_all(asked).await {
        assert_eq!(text, "at last", "{form}");
    }
}

async fn new_session(fixture: &TurnFixture) -> Value {
    let begun = fixture.client.post("/v1/chat/sessions", &json!({})).await;
    begun.ok(201)["session_id"].clone()
}

/// The form of the request, and the answer.
async fn answer_to(fixture: &TurnFixture, mut body: Value, is_streamed: bool) -> (String, String) {
    body["stream"] = json!(is_streamed);
    let form = body.to_string();
    if is_streamed {
        let request = fixture.client.request(Method::POST, "/v1/chat").json(&body);
        let mut listening = EventStream::open(request).await;
        assert_eq!(listening.status, 200, "{form}");
        return (form, text_of(&listening.rest().await));
    }
    let answer = fixture.client.post("/v1/chat", &body).await;
    assert_eq!(answer.status, 200, "{form} {answer:?}");
    let text = text(&answer.json(), "response").to_owned();
    (form, text)
}
