//! `/v1/chat`: with a session, with a history, and without both.

use serde_json::{Value, json};
use tests::eventually::eventually;

use crate::fixture::{ids, list, text};
use crate::turns::fixture::{TurnFixture, open_settings};
use crate::turns::sse::{EventStream, kinds, text as text_of};

#[tokio::test(flavor = "multi_thread")]
async fn turns_without_a_session_are_not_stored() {
    let fixture = TurnFixture::new().await;
    let check = async |body: Value, expected: &str| {
        let answer = fixture.client.post("/v1/chat", &body).await.ok(200);
        assert_eq!(text(&answer, "response"), expected);
        assert_eq!(answer["session_id"], Value::Null);
        assert_eq!(answer.get("run_id"), None);
        assert!(answer["usage"]["output_tokens"].as_u64().unwrap() > 1);
    };
    check(json!({"message": "hello"}), "echo: hello").await;
    check(json!({"message": "hello", "session_id": "none-of-mine"}), "echo: hello").await;
    check(json!({"message": "hello", "session_id": "no id at all!"}), "echo: hello").await;
    let history = json!([{"role": "system", "content": "be brief"}, {"role": "user", "content": "from a list"}]);
    check(json!({"messages": history}), "echo: from a list").await;
    let listed = fixture.client.get("/api/chats").await.ok(200);
    assert!(ids(&listed).is_empty());
    // A turn without a session needs an identity, too.
    let nobody = fixture.client.without("x-session-id");
    for (path, body) in [
        ("/v1/chat", json!({"message": "hi"})),
        ("/v1/chat", json!({"message": "hi", "session_id": "x"})),
        ("/v1/chat/sessions", json!({})),
    ] {
        let refused = nobody.post(path, &body).await;
        let expected = (401, "SESSION_REQUIRED".to_owned());
        assert_eq!(refused.status_and_code(), expected, "{path} {body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_other_callers_are_not_found() {
    let fixture = TurnFixture::new().await;
    let begun = fixture.client.post("/v1/chat/sessions", &json!({})).await.ok(201);
    let session = text(&begun, "session_id");
    let other = fixture.client.with("x-session-id", "other");
    let body = json!({"message": "hello", "session_id": session});
    let answer = other.post("/v1/chat", &body).await.ok(200);
    assert_eq!(answer["session_id"], Value::Null);
    let path = format!("/v1/chat/sessions/{session}/messages");
    assert_eq!(other.get(&path).await.status, 404);
    let shown = fixture.client.get(&path).await.ok(200);
    assert!(list(&shown, "messages").is_empty());
    eventually("the session in its owner's list", || async {
        let listed = fixture.client.get("/v1/chat/sessions").await.ok(200);
        let sessions = list(&listed, "sessions");
        sessions.iter().any(|one| text(one, "id") == session).then_some(())
    })
    .await;
    let listed = other.get("/v1/chat/sessions").await.ok(200);
    assert!(list(&listed, "sessions").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn given_histories_are_read_verbatim_and_only_new_messages_are_stored() {
    let fixture = TurnFixture::new().await;
    let begun = fixture.client.post("/v1/chat/sessions", &json!({})).await.ok(201);
    let session = text(&begun, "session_id");
    let kept = async || {
        let path = format!("/v1/chat/sessions/{session}/messages");
        let shown = fixture.client.get(&path).await.ok(200);
        list(&shown, "messages").iter().map(|one| text(one, "content").to_owned()).collect::<Vec<_>>()
    };
    let mut history = vec![json!({"role": "system", "content": "be brief"})];
    let mut expected: Vec<String> = Vec::new();
    for question in ["one", "two", "three"] {
        history.push(json!({"role": "user", "content": question}));
        let body = json!({"messages": history, "session_id": session});
        let answer = fixture.client.post("/v1/chat", &body).await.ok(200);
        let response = text(&answer, "response").to_owned();
        assert_eq!(response, format!("echo: {question}"));
        history.push(json!({"role": "assistant", "content": response}));
        expected.extend([question.to_owned(), response]);
        assert_eq!(kept().await, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_can_be_streamed() {
    let fixture = TurnFixture::new().await;
    let begun = fixture.client.post("/v1/chat/sessions", &json!({})).await.ok(201);
    for session in [begun["session_id"].clone(), Value::Null] {
        let body = json!({"message": "as a stream", "session_id": session, "stream": true});
        let request = fixture.client.request(reqwest::Method::POST, "/v1/chat").json(&body);
        let mut listening = EventStream::open(request).await;
        let heard = listening.rest().await;
        assert_eq!(text_of(&heard), "echo: as a stream");
        assert_eq!(kinds(&heard).last().unwrap(), "finish");
        assert_eq!(listening.run.is_empty(), session.is_null());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn model_failures_are_reported() {
    let fixture = TurnFixture::new().await;
    let settings = wire::proto::operate::v1::AgentSettings {
        model: Some(wire::proto::operate::v1::ModelSettings {
            server: "nowhere".to_owned(),
            model: "m".to_owned(),
            ..Default::default()
        }),
        ..open_settings()
    };
    fixture.operator.settings(fixture.agent_id, settings).await;
    let begun = fixture.client.post("/v1/chat/sessions", &json!({})).await.ok(201);
    for session in [Value::Null, begun["session_id"].clone()] {
        let why = eventually("a model that is not there", || async {
            let body = json!({"message": "hello", "session_id": session});
            let answer = fixture.client.post("/v1/chat", &body).await;
            let why = answer.json()["metadata"]["error_type"].clone();
            (answer.status_and_code() == (502, "RUN_FAILED".to_owned())).then_some(why)
        })
        .await;
        assert_eq!(why, "model_server_unknown");
    }
}
