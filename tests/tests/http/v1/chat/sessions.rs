//! `/v1/chat`: with a session, with a history, with neither.

use serde_json::{Value, json};
use tests::eventually::eventually;

use crate::ground::{ids, list, text};
use crate::turns::ground::{Talk, open};
use crate::turns::sse::{Listening, kinds, text as text_of};

#[tokio::test(flavor = "multi_thread")]
async fn without_a_session_nothing_is_kept() {
    let talk = Talk::new().await;
    let check = async |body: Value, expected: &str| {
        let answer = talk.door.post("/v1/chat", &body).await.ok(200);
        assert_eq!(text(&answer, "response"), expected);
        assert_eq!(answer["session_id"], Value::Null);
        assert_eq!(answer.get("run_id"), None);
        assert!(answer["usage"]["output_tokens"].as_u64().unwrap() > 1);
    };
    check(json!({"message": "hello"}), "echo: hello").await;
    check(
        json!({"message": "hello", "session_id": "none-of-mine"}),
        "echo: hello",
    )
    .await;
    check(
        json!({"message": "hello", "session_id": "no id at all!"}),
        "echo: hello",
    )
    .await;
    let history = json!([{"role": "system", "content": "be brief"}, {"role": "user", "content": "from a list"}]);
    check(json!({"messages": history}), "echo: from a list").await;
    let listed = talk.door.get("/api/chats").await.ok(200);
    assert!(ids(&listed).is_empty());
    // A turn alone is somebody's too.
    let nobody = talk.door.without("x-session-id");
    for (path, body) in [
        ("/v1/chat", json!({"message": "hi"})),
        ("/v1/chat", json!({"message": "hi", "session_id": "x"})),
        ("/v1/chat/sessions", json!({})),
    ] {
        let refused = nobody.post(path, &body).await;
        let expected = (401, "SESSION_REQUIRED".to_owned());
        assert_eq!(refused.told(), expected, "{path} {body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_callers_session_is_none() {
    let talk = Talk::new().await;
    let begun = talk
        .door
        .post("/v1/chat/sessions", &json!({}))
        .await
        .ok(201);
    let session = text(&begun, "session_id");
    let other = talk.door.with("x-session-id", "other");
    let body = json!({"message": "hello", "session_id": session});
    let answer = other.post("/v1/chat", &body).await.ok(200);
    assert_eq!(answer["session_id"], Value::Null);
    let path = format!("/v1/chat/sessions/{session}/messages");
    assert_eq!(other.get(&path).await.status, 404);
    let shown = talk.door.get(&path).await.ok(200);
    assert!(list(&shown, "messages").is_empty());
    eventually("the session in its owner's list", || async {
        let listed = talk.door.get("/v1/chat/sessions").await.ok(200);
        let sessions = list(&listed, "sessions");
        sessions
            .iter()
            .any(|one| text(one, "id") == session)
            .then_some(())
    })
    .await;
    let listed = other.get("/v1/chat/sessions").await.ok(200);
    assert!(list(&listed, "sessions").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_given_history_is_read_as_given_and_only_its_news_are_kept() {
    let talk = Talk::new().await;
    let begun = talk
        .door
        .post("/v1/chat/sessions", &json!({}))
        .await
        .ok(201);
    let session = text(&begun, "session_id");
    let kept = async || {
        let path = format!("/v1/chat/sessions/{session}/messages");
        let shown = talk.door.get(&path).await.ok(200);
        let told = list(&shown, "messages")
            .iter()
            .map(|one| text(one, "content").to_owned());
        told.collect::<Vec<_>>()
    };
    let mut history = vec![json!({"role": "system", "content": "be brief"})];
    let mut expected: Vec<String> = Vec::new();
    for said in ["one", "two", "three"] {
        history.push(json!({"role": "user", "content": said}));
        let body = json!({"messages": history, "session_id": session});
        let answer = talk.door.post("/v1/chat", &body).await.ok(200);
        let response = text(&answer, "response").to_owned();
        assert_eq!(response, format!("echo: {said}"));
        history.push(json!({"role": "assistant", "content": response}));
        expected.extend([said.to_owned(), response]);
        assert_eq!(kept().await, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_may_be_heard_as_a_stream() {
    let talk = Talk::new().await;
    let begun = talk
        .door
        .post("/v1/chat/sessions", &json!({}))
        .await
        .ok(201);
    for session in [begun["session_id"].clone(), Value::Null] {
        let body = json!({"message": "as a stream", "session_id": session, "stream": true});
        let request = talk
            .door
            .request(reqwest::Method::POST, "/v1/chat")
            .json(&body);
        let mut listening = Listening::open(request).await;
        let heard = listening.rest().await;
        assert_eq!(text_of(&heard), "echo: as a stream");
        assert_eq!(kinds(&heard).last().unwrap(), "finish");
        assert_eq!(listening.run.is_empty(), session.is_null());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_model_is_told() {
    let talk = Talk::new().await;
    let settings = wire::proto::operate::v1::AgentSettings {
        model: Some(wire::proto::operate::v1::ModelSettings {
            server: "nowhere".to_owned(),
            model: "m".to_owned(),
            ..Default::default()
        }),
        ..open()
    };
    talk.operator.settings("support", settings).await;
    let begun = talk
        .door
        .post("/v1/chat/sessions", &json!({}))
        .await
        .ok(201);
    for session in [Value::Null, begun["session_id"].clone()] {
        let why = eventually("a model that is not there", || async {
            let body = json!({"message": "hello", "session_id": session});
            let answer = talk.door.post("/v1/chat", &body).await;
            let why = answer.json()["metadata"]["error_type"].clone();
            (answer.told() == (502, "RUN_FAILED".to_owned())).then_some(why)
        })
        .await;
        assert_eq!(why, "model_server_unknown");
    }
}
