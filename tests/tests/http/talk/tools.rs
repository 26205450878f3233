//! Calls of tools: handed to the client, or run at a webhook once a person says so.

use axum::Router;
use axum::routing::post;
use serde_json::{Value, json};
use tests::events::{call, user};
use wire::proto::operate::v1 as proto;

use super::ground::Talk;
use super::sse::{ask, chunks};
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
