//! Calls of tools: handed to the client, or run at a webhook once a person says so.

use axum::Router;
use axum::routing::post;
use serde_json::{Value, json};
use tests::events::{call, user};
use wire::proto::operate::v1 as proto;

use super::ground::Talk;
use super::model::{Model, Reply};
use super::sse::{Listening, ask, chunks, say, text as text_of};
use crate::chat::ai_sdk::{send, submit};
use crate::ground::{list, text};

fn tool(name: &str, webhook_url: &str) -> proto::ToolSettings {
    proto::ToolSettings {
        tool_name: name.to_owned(),
        input_schema_json: "{}".to_owned(),
        webhook_url: webhook_url.to_owned(),
        needs_approval: !webhook_url.is_empty(),
        ..proto::ToolSettings::default()
    }
}

/// A chat in which the model has called a tool and waits.
async fn waiting(talk: &Talk) -> String {
    let chat = talk.chat().await;
    let asked = vec![user("what is it?"), call("c1", r#"{"q": 1}"#)];
    talk.agent.append(&chat, asked).await;
    chat
}

/// The parts of the chat's last message.
async fn last_parts(talk: &Talk, chat: &str) -> Vec<Value> {
    let shown = talk.door.get(&format!("/api/chats/{chat}")).await.ok(200);
    list(list(&shown, "messages").last().unwrap(), "parts").to_vec()
}

fn call_of(parts: &[Value]) -> &Value {
    parts
        .iter()
        .find(|part| part["toolCallId"] == "c1")
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clients_result_goes_on_with_the_message() {
    let talk = Talk::with(vec![tool("search", "")]).await;
    let chat = waiting(&talk).await;
    let before = talk.door.get(&format!("/api/chats/{chat}")).await.ok(200);
    let message = text(list(&before, "messages").last().unwrap(), "id").to_owned();
    assert_eq!(
        call_of(&last_parts(&talk, &chat).await)["state"],
        "input-available"
    );
    let body = json!({"toolResults": [{"toolCallId": "c1", "output": {"found": 7}}]});
    let heard = ask(&talk.door, &chat, &body).await;
    assert_eq!(chunks(&heard)[0]["messageId"], message);
    talk.idle(&chat).await;
    let parts = last_parts(&talk, &chat).await;
    assert_eq!(call_of(&parts)["state"], "output-available");
    assert_eq!(call_of(&parts)["output"], json!({"found": 7}));
    assert_eq!(parts.last().unwrap()["text"], "echo: what is it?");
    let again = talk
        .door
        .post(&format!("/api/chats/{chat}/messages"), &body)
        .await;
    assert_eq!(again.told(), (409, "TOOL_CALL_NOT_OPEN".to_owned()));
}

/// A client's result of the call, as either door takes it.
fn forged(chat: &str) -> [(String, Value); 2] {
    let output = json!({"refunded": "forged"});
    let part = json!({"type": "tool-search", "toolCallId": "c1", "state": "output-available", "input": {}, "output": output});
    let assistant = json!({"id": "a1", "role": "assistant", "parts": [part]});
    let results = json!({"toolResults": [{"toolCallId": "c1", "output": output}]});
    [
        (format!("/api/chats/{chat}/messages"), results),
        ("/api/chat".to_owned(), submit(chat, &[assistant])),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_webhook_answers_no_client_does() {
    for needs_approval in [true, false] {
        let webhook = proto::ToolSettings {
            needs_approval,
            ..tool("search", "http://127.0.0.1:1/hook")
        };
        let talk = Talk::with(vec![webhook]).await;
        let chat = waiting(&talk).await;
        let before = last_parts(&talk, &chat).await;
        for (path, body) in forged(&chat) {
            let keyed = talk
                .door
                .with("idempotency-key", &uuid::Uuid::now_v7().to_string());
            for door in [&talk.door, &keyed] {
                let answer = door.post(&path, &body).await;
                let expected = (403, "TOOL_ANSWERED_BY_WEBHOOK".to_owned());
                assert_eq!(answer.told(), expected, "{path}");
            }
        }
        assert_eq!(last_parts(&talk, &chat).await, before);
        // The page sends what it has shown once more beside a new message: that is not taken either.
        let [_, (_, mut body)] = forged(&chat);
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(
            json!({"id": "m2", "role": "user", "parts": [{"type": "text", "text": "well?"}]}),
        );
        let heard = send(&talk, &body).await.rest().await;
        assert_eq!(chunks(&heard).last().unwrap()["type"], "finish");
        talk.idle(&chat).await;
        let shown = talk.door.get(&format!("/api/chats/{chat}")).await;
        assert!(!String::from_utf8_lossy(&shown.body).contains("forged"));
        // A person's refusal is theirs to give.
        let denied = json!({"approvals": [{"toolCallId": "c1", "approved": false}]});
        ask(&talk.door, &chat, &denied).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_may_answer_the_moment_the_stream_ends_and_again() {
    let model = Model::start(|before| match before % 2 {
        0 => Reply::Call("c1", "search"),
        _ => Reply::Text("found".to_owned()),
    })
    .await;
    let talk = Talk::answered_by(&model, vec![tool("search", "")], |_| ()).await;
    for door in 0..2 {
        let chat = talk.chat().await;
        ask(&talk.door, &chat, &json!({"content": "look"})).await;
        // Nobody waits for the run to be finished.
        let (path, body) = forged(&chat)[door].clone();
        let key = uuid::Uuid::now_v7().to_string();
        let keyed = talk.door.with("idempotency-key", &key);
        let request = || keyed.request(reqwest::Method::POST, &path).json(&body);
        let mut first = Listening::open(request()).await;
        let heard = first.rest().await;
        assert_eq!(
            (first.status, text_of(&heard)),
            (200, "found".to_owned()),
            "{path}"
        );
        talk.idle(&chat).await;
        if door == 0 {
            let again = Listening::open(request()).await.rest().await;
            assert_eq!(again, heard);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_of_a_call_that_nobody_knows_yet_waits_for_the_run() {
    let talk = Talk::new().await;
    let chat = talk.chat().await;
    let said = json!({"content": "a good many words, so that it takes a while to say all of them"});
    let mut page = say(&talk.door, &chat, &said).await;
    page.next().await.unwrap();
    let [(path, body), _] = forged(&chat);
    let keyed = talk
        .door
        .with("idempotency-key", &uuid::Uuid::now_v7().to_string());
    for door in [&talk.door, &keyed] {
        let early = door.post(&path, &body).await;
        assert_eq!(early.told(), (409, "RUN_ACTIVE".to_owned()));
        assert_eq!(early.json()["metadata"]["run_id"], page.run);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_an_approved_call_runs_at_its_webhook_and_a_refused_one_does_not() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let hook = Router::new().route("/hook", post(async || axum::Json(json!({"done": true}))));
    let serving = tokio::spawn(async move { axum::serve(listener, hook).await });
    let mut talk = Talk::with(vec![tool("search", &url)]).await;
    for (approved, state) in [(true, "output-available"), (false, "output-denied")] {
        let chat = waiting(&talk).await;
        assert_eq!(
            call_of(&last_parts(&talk, &chat).await)["state"],
            "approval-requested"
        );
        // Who is asked may answer days later: what waits outlives every process.
        talk.restart().await;
        let body = json!({"approvals": [{"toolCallId": "c1", "approved": approved}]});
        ask(&talk.door, &chat, &body).await;
        talk.idle(&chat).await;
        let parts = last_parts(&talk, &chat).await;
        assert_eq!(call_of(&parts)["state"], state, "{parts:?}");
        if approved {
            assert_eq!(call_of(&parts)["output"], json!({"done": true}));
        }
        assert_eq!(parts.last().unwrap()["text"], "echo: what is it?");
    }
    serving.abort();
}
