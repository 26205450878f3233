//! What a model server says of its failure may hold keys, addresses and contents: callers are told our own words.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::ground::Talk;
use super::model::{Model, Reply};
use super::sse::{ask, kinds};
use crate::ground::{list, text};

const SECRET: &str = "sk-live-1234 at http://10.0.0.7/internal";

#[tokio::test(flavor = "multi_thread")]
async fn a_model_servers_own_words_are_not_recorded() {
    let words = || json!({"error": {"type": SECRET, "message": SECRET}});
    let model = Model::start(move |before| match before {
        0 => Reply::Refused(StatusCode::UNAUTHORIZED, words()),
        _ => Reply::Failing("so far".to_owned(), words()),
    })
    .await;
    let talk = Talk::answered_by(&model, Vec::new(), |_| ()).await;
    for (error_type, message) in [
        (
            "model_refused",
            "the model server refused the request with status 401",
        ),
        ("model_failed", "the model failed while it answered"),
    ] {
        let chat = talk.chat().await;
        let heard = ask(&talk.door, &chat, &json!({"content": "hello"})).await;
        assert_eq!(kinds(&heard).last().unwrap(), "error", "{heard:?}");
        talk.idle(&chat).await;
        let shown = talk
            .door
            .get(&format!("/api/chats/{chat}?include=events"))
            .await
            .ok(200);
        let exported = talk
            .door
            .get(&format!("/api/chats/{chat}/export?format=json"))
            .await
            .ok(200);
        for told in [json!(format!("{heard:?}")), shown, exported.clone()] {
            assert!(!told.to_string().contains("sk-live"), "{told}");
        }
        let errors = list(&exported, "events").iter();
        let errors = errors.filter(|event| event["errorType"].is_string());
        let errors: Vec<(&str, &str)> = errors
            .map(|error| (text(error, "errorType"), text(error, "message")))
            .collect();
        assert_eq!(errors, [(error_type, message)], "{exported}");
    }
    assert_eq!(model.asked().len(), 2);
    let alone = talk
        .door
        .post("/v1/chat", &json!({"message": "hello"}))
        .await;
    assert_eq!(alone.told(), (502, "RUN_FAILED".to_owned()));
    let told: Value = alone.json();
    assert!(!told.to_string().contains("sk-live"), "{told}");
}
