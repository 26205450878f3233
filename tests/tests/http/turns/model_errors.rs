//! Errors of a model server may contain keys, addresses and contents, so callers only get the gateway's own messages.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::fixture::TurnFixture;
use super::model::{Model, Reply};
use super::sse::{ask, kinds};
use crate::fixture::{list, text};

const SECRET: &str = "sk-live-1234 at http://10.0.0.7/internal";

#[tokio::test(flavor = "multi_thread")]
async fn model_server_errors_are_not_recorded() {
    let words = || json!({"error": {"type": SECRET, "message": SECRET}});
    let model = Model::start(move |before| match before {
        0 => Reply::Refused(StatusCode::UNAUTHORIZED, words()),
        _ => Reply::Failing("so far".to_owned(), words()),
    })
    .await;
    let fixture = TurnFixture::with_model(&model, Vec::new(), |_| ()).await;
    for (error_type, message) in [
        ("model_refused", "the model server refused the request with status 401"),
        ("model_failed", "the model failed while it answered"),
    ] {
        let chat = fixture.chat().await;
        let heard = ask(&fixture.client, &chat, &json!({"content": "hello"})).await;
        assert_eq!(kinds(&heard).last().unwrap(), "error", "{heard:?}");
        fixture.idle(&chat).await;
        let shown = fixture.client.get(&format!("/api/chats/{chat}?include=events")).await.ok(200);
        let exported = fixture.client.get(&format!("/api/chats/{chat}/export?format=json")).await.ok(200);
        for answer_or_export in [json!(format!("{heard:?}")), shown, exported.clone()] {
            assert!(!answer_or_export.to_string().contains("sk-live"), "{answer_or_export}");
        }
        let errors: Vec<(&str, &str)> = list(&exported, "events")
            .iter()
            .filter(|event| event["errorType"].is_string())
            .map(|error| (text(error, "errorType"), text(error, "message")))
            .collect();
        assert_eq!(errors, [(error_type, message)], "{exported}");
    }
    assert_eq!(model.requests().len(), 2);
    let alone = fixture.client.post("/v1/chat", &json!({"message": "hello"})).await;
    assert_eq!(alone.status_and_code(), (502, "RUN_FAILED".to_owned()));
    let answer_or_export: Value = alone.json();
    assert!(!answer_or_export.to_string().contains("sk-live"), "{answer_or_export}");
}
