//! Turns that fail before the model says anything: shown after a reload, and not stored twice by who tries again.

use axum::http::StatusCode;
use serde_json::{Value, json};
use tests::jwt;
use wire::proto::operate::v1::{self as proto, SigningKeyUse};

use super::ground::Talk;
use super::model::{Model, Reply};
use super::sse::{ask, chunks};
use crate::ground::{bearer, list, text};

const REFUSED: &str = "An error occurred.";

/// A model that refuses these requests, and answers the others.
async fn refusing(refused: &'static [usize]) -> Model {
    Model::start(move |before| {
        if refused.contains(&before) {
            return Reply::Refused(StatusCode::BAD_REQUEST, json!({"error": {"message": "no"}}));
        }
        Reply::Text("fine".to_owned())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_turn_is_shown_after_a_reload() {
    let model = refusing(&[0]).await;
    let talk = Talk::answered_by(&model, Vec::new(), |_| ()).await;
    let chat = talk.chat().await;
    let heard = ask(&talk.door, &chat, &json!({"content": "hello"})).await;
    let heard = chunks(&heard);
    assert_eq!(heard.last().unwrap()["errorText"], REFUSED);
    talk.idle(&chat).await;
    let shown = talk.door.get(&format!("/api/chats/{chat}")).await.ok(200);
    let metadata = json!({"outcome": "failed", "errorText": REFUSED});
    let answer = json!({"id": heard[0]["messageId"], "role": "assistant", "metadata": metadata, "parts": []});
    assert_eq!(list(&shown, "messages")[1], answer);
    // What the stream says of the message is what the reload shows.
    let streamed = heard
        .iter()
        .find(|chunk| chunk["type"] == "message-metadata");
    assert_eq!(streamed.unwrap()["messageMetadata"], metadata);
    let path = format!("/v1/chat/sessions/{chat}/messages");
    let listed = talk.door.get(&path).await.ok(200);
    let listed = &list(&listed, "messages")[1];
    assert_eq!(
        (text(listed, "outcome"), text(listed, "error")),
        ("failed", REFUSED)
    );
    // Administrators read why.
    let secret = talk
        .operator
        .signing_key("acme", "admins", SigningKeyUse::Admin)
        .await;
    let admin = bearer(&talk.stack, &jwt::admin(&secret, "acme"));
    let path = format!("/v1/admin/conversations/{chat}/events");
    let events = admin.get(&path).await.ok(200).to_string();
    assert!(
        events.contains("refused the request with status 400"),
        "{events}"
    );
    assert!(events.contains("failed"), "{events}");
    // Another answer is wanted: by what the AI SDK's page sends.
    let again = json!({"id": chat, "messages": [], "trigger": "regenerate-message"});
    talk.door.post("/api/chat", &again).await;
    talk.idle(&chat).await;
    assert_eq!(
        talk.said(&chat).await,
        [said("user", "hello"), said("assistant", "fine")]
    );
}

fn said(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_turn_that_is_tried_again_is_stored_once() {
    let model = refusing(&[0, 1, 3]).await;
    let talk = Talk::answered_by(&model, Vec::new(), |_| ()).await;
    let begun = talk
        .door
        .post("/v1/chat/sessions", &json!({}))
        .await
        .ok(201);
    let session = text(&begun, "session_id").to_owned();
    let say = async |message: &str| {
        let body = json!({"message": message, "session_id": session});
        talk.door.post("/v1/chat", &body).await.status
    };
    assert_eq!(
        [say("hello").await, say("hello").await, say("hello").await],
        [502, 502, 200]
    );
    let answered = [said("user", "hello"), said("assistant", "fine")];
    assert_eq!(talk.said(&session).await, answered);
    let read = |request: &Value| request["messages"].to_string().matches("hello").count();
    assert_eq!(
        model.asked().iter().map(read).collect::<Vec<_>>(),
        [1, 1, 1]
    );
    // Another message after a failure, and the same one after an answer, are new.
    assert_eq!(
        [say("and?").await, say("so?").await, say("so?").await],
        [502, 200, 200]
    );
    let rest = [
        said("user", "and?"),
        said("assistant", ""),
        said("user", "so?"),
        said("assistant", "fine"),
        said("user", "so?"),
        said("assistant", "fine"),
    ];
    assert_eq!(
        talk.said(&session).await,
        [&answered[..], &rest[..]].concat()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_without_a_model_answers_nobody() {
    let talk = Talk::new().await;
    let none = proto::AgentSettings {
        identity_mode: proto::IdentityMode::Open.into(),
        ..proto::AgentSettings::default()
    };
    talk.operator.settings("support", none).await;
    let chat = talk.chat().await;
    let expected = (503, "MODEL_NOT_CONFIGURED".to_owned());
    for (path, body) in [
        (
            format!("/api/chats/{chat}/messages"),
            json!({"content": "hello"}),
        ),
        ("/v1/chat".to_owned(), json!({"message": "hello"})),
    ] {
        tests::eventually::eventually("a gateway that knows the settings", || async {
            (talk.door.post(&path, &body).await.told() == expected).then_some(())
        })
        .await;
    }
}
