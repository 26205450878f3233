//! Turns that fail before the model answers: shown after a reload, and stored once after a retry.

use axum::http::StatusCode;
use serde_json::{Value, json};
use tests::jwt;
use wire::proto::operate::v1::{self as proto, SigningKeyUse};

use super::fixture::TurnFixture;
use super::model::{Model, Reply};
use super::sse::{ask, chunks};
use crate::fixture::{bearer, list, text};

const REFUSED: &str = "An error occurred.";

/// A model that rejects these requests, and answers the others.
async fn failing_model(refused: &'static [usize]) -> Model {
    Model::start(move |before| {
        if refused.contains(&before) {
            return Reply::Refused(StatusCode::BAD_REQUEST, json!({"error": {"message": "no"}}));
        }
        Reply::Text("fine".to_owned())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_turns_are_shown_after_a_reload() {
    let model = failing_model(&[0]).await;
    let fixture = TurnFixture::with_model(&model, Vec::new(), |_| ()).await;
    let chat = fixture.chat().await;
    let heard = chunks(&ask(&fixture.client, &chat, &json!({"content": "hello"})).await);
    assert_eq!(heard.last().unwrap()["errorText"], REFUSED);
    fixture.idle(&chat).await;
    let shown = fixture.client.get(&format!("/api/chats/{chat}")).await.ok(200);
    let metadata = json!({"outcome": "failed", "errorText": REFUSED});
    let answer = &list(&shown, "messages")[1];
    assert_eq!(answer["id"], heard[0]["messageId"]);
    assert_eq!((&answer["role"], &answer["metadata"], &answer["parts"]), (&json!("assistant"), &metadata, &json!([])));
    // The message in the stream equals the message after the reload.
    let streamed = heard.iter().find(|chunk| chunk["type"] == "message-metadata");
    assert_eq!(streamed.unwrap()["messageMetadata"], metadata);
    let path = format!("/v1/chat/sessions/{chat}/messages");
    let page = fixture.client.get(&path).await.ok(200);
    let listed = &list(&page, "messages")[1];
    assert_eq!((text(listed, "outcome"), text(listed, "error")), ("failed", REFUSED));
    // Administrators see the reason.
    let secret = fixture.operator.signing_key(fixture.tenant, "admins", SigningKeyUse::Admin).await;
    let admin = bearer(&fixture.stack, &jwt::admin(&secret, fixture.tenant));
    let path = format!("/v1/admin/conversations/{chat}/events");
    let events = admin.get(&path).await.ok(200).to_string();
    assert!(events.contains("refused the request with status 400"), "{events}");
    assert!(events.contains("failed"), "{events}");
    // A request for another answer, as the AI SDK's page sends it.
    let again = json!({"id": chat, "messages": [], "trigger": "regenerate-message"});
    fixture.client.post("/api/chat", &again).await;
    fixture.idle(&chat).await;
    assert_eq!(fixture.messages(&chat).await, [message("user", "hello"), message("assistant", "fine")]);
}

fn message(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn retried_failed_turns_are_stored_once() {
    let model = failing_model(&[0, 1, 3]).await;
    let fixture = TurnFixture::with_model(&model, Vec::new(), |_| ()).await;
    let begun = fixture.client.post("/v1/chat/sessions", &json!({})).await.ok(201);
    let session = text(&begun, "session_id").to_owned();
    let say = async |message: &str| {
        let body = json!({"message": message, "session_id": session});
        fixture.client.post("/v1/chat", &body).await.status
    };
    assert_eq!([say("hello").await, say("hello").await, say("hello").await], [502, 502, 200]);
    let answered = [message("user", "hello"), message("assistant", "fine")];
    assert_eq!(fixture.messages(&session).await, answered);
    let read = |request: &Value| request["messages"].to_string().matches("hello").count();
    assert_eq!(model.requests().iter().map(read).collect::<Vec<_>>(), [1, 1, 1]);
    // Another message after a failure, and the same message after an answer, are new.
    assert_eq!([say("and?").await, say("so?").await, say("so?").await], [502, 200, 200]);
    let rest = [
        message("user", "and?"),
        message("assistant", ""),
        message("user", "so?"),
        message("assistant", "fine"),
        message("user", "so?"),
        message("assistant", "fine"),
    ];
    assert_eq!(fixture.messages(&session).await, [&answered[..], &rest[..]].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_without_a_model_reject_messages() {
    let fixture = TurnFixture::new().await;
    let none =
        proto::AgentSettings { identity_mode: proto::IdentityMode::Open.into(), ..proto::AgentSettings::default() };
    fixture.operator.settings(fixture.agent_id, none).await;
    let chat = fixture.chat().await;
    let expected = (503, "MODEL_NOT_CONFIGURED".to_owned());
    for (path, body) in [
        (format!("/api/chats/{chat}/messages"), json!({"content": "hello"})),
        ("/v1/chat".to_owned(), json!({"message": "hello"})),
    ] {
        tests::eventually::eventually("a gateway that knows the settings", || async {
            (fixture.client.post(&path, &body).await.status_and_code() == expected).then_some(())
        })
        .await;
    }
}
