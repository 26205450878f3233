//! A model that takes longer to begin than a request may take: every form of a turn waits for it.

use std::time::Duration;

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::ground::Talk;
use super::model::{Model, Reply};
use super::sse::{Listening, text as text_of};
use crate::ground::text;

const REQUEST_TIMEOUT_MS: u64 = 1_500;
const FIRST_PIECE_AFTER: Duration = Duration::from_millis(2_500);

#[tokio::test(flavor = "multi_thread")]
async fn a_late_first_piece_is_waited_for_in_every_form() {
    let model = Model::start(|_| Reply::Late(FIRST_PIECE_AFTER, "at last".to_owned())).await;
    let talk = Talk::answered_by(&model, Vec::new(), |gateway| {
        gateway.http.server.request_timeout_ms = REQUEST_TIMEOUT_MS;
    })
    .await;
    let said = [
        json!({"message": "hello"}),
        json!({"messages": [{"role": "user", "content": "hello"}]}),
    ];
    let mut asked = Vec::new();
    for said in said {
        for session in [Value::Null, begun(&talk).await] {
            let mut body = said.clone();
            body["session_id"] = session;
            asked.push(heard(&talk, body.clone(), false));
            if body["session_id"] != Value::Null {
                body["session_id"] = begun(&talk).await;
            }
            asked.push(heard(&talk, body, true));
        }
    }
    for (form, said) in join_all(asked).await {
        assert_eq!(said, "at last", "{form}");
    }
}

async fn begun(talk: &Talk) -> Value {
    let begun = talk.door.post("/v1/chat/sessions", &json!({})).await;
    begun.ok(201)["session_id"].clone()
}

/// What was asked, and the answer.
async fn heard(talk: &Talk, mut body: Value, is_streamed: bool) -> (String, String) {
    body["stream"] = json!(is_streamed);
    let form = body.to_string();
    if is_streamed {
        let request = talk.door.request(Method::POST, "/v1/chat").json(&body);
        let mut listening = Listening::open(request).await;
        assert_eq!(listening.status, 200, "{form}");
        return (form, text_of(&listening.rest().await));
    }
    let answer = talk.door.post("/v1/chat", &body).await;
    assert_eq!(answer.status, 200, "{form} {answer:?}");
    let said = text(&answer.json(), "response").to_owned();
    (form, said)
}
