//! Calls of a model that cannot be executed: no tool runs, the model reads why, and the record has no open call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use wire::proto::operate::v1 as proto;

use super::fixture::TurnFixture;
use super::model::{Model, Reply};
use super::sse::{ask, text as text_of};
use crate::fixture::list;

/// A webhook that counts its calls.
struct Hook {
    url: String,
    calls: Arc<AtomicUsize>,
}

async fn hook() -> Hook {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let calls = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&calls);
    let answer = move || {
        counted.fetch_add(1, Ordering::SeqCst);
        async { axum::Json(json!({"cold": true})) }
    };
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/hook", post(answer))).await });
    Hook { url, calls }
}

fn tool(name: &str, webhook_url: &str) -> proto::ToolSettings {
    proto::ToolSettings {
        tool_name: name.to_owned(),
        input_schema_json: "{}".to_owned(),
        webhook_url: webhook_url.to_owned(),
        ..proto::ToolSettings::default()
    }
}

/// Calls as pieces of a message: name and arguments.
fn calls(given: &[(&str, &str)]) -> Vec<Value> {
    let piece = |(index, (name, arguments)): (usize, &(&str, &str))| {
        let function = json!({"name": name, "arguments": arguments});
        json!({"tool_calls": [{"index": index, "id": format!("p{index}"), "type": "function", "function": function}]})
    };
    given.iter().enumerate().map(piece).collect()
}

/// An answer of the model.
struct Case {
    /// Names and arguments of its calls.
    calls: &'static [(&'static str, &'static str)],
    finish: &'static str,
    /// The calls that are not executed, and words of the reason.
    failed: &'static [(usize, &'static str)],
}

const fn case(
    calls: &'static [(&'static str, &'static str)],
    finish: &'static str,
    failed: &'static [(usize, &'static str)],
) -> Case {
    Case { calls, finish, failed }
}

const CASES: [Case; 8] = [
    case(&[("weather", r#"{"city": "X"#)], "length", &[(0, "cut")]),
    case(&[("weather", "")], "length", &[(0, "cut")]),
    case(&[("ask_person", r#"{"city": "#)], "length", &[(0, "cut")]),
    case(&[("weather", r#"{"city": "X"}"#), ("weather", r#"{"city"#)], "length", &[(1, "cut")]),
    case(&[("weather", "[1]")], "tool_calls", &[(0, "no JSON object")]),
    case(&[("weather", "in X"), ("weather", "")], "tool_calls", &[(0, "no JSON object")]),
    case(&[("forecast", "{}"), ("weather", "{}")], "stop", &[(0, "weather, ask_person")]),
    case(&[("weather", r#"{"city": "X"}"#)], "length", &[]),
];

/// Answers a user's number with the calls of this case, and results with a text.
fn reply(requests: &[Value]) -> Reply {
    let last = &requests.last().unwrap()["messages"].as_array().unwrap().last().unwrap().clone();
    let number =
        last["content"].as_str().filter(|_| last["role"] == "user").and_then(|text| text.parse::<usize>().ok());
    match number.and_then(|number| CASES.get(number)) {
        Some(case) => Reply::Deltas(calls(case.calls), case.finish),
        None => Reply::Text("It is cold.".to_owned()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_calls_are_not_executed() {
    let hook = hook().await;
    let model = Model::answering(reply).await;
    let tools = vec![tool("weather", &hook.url), tool("ask_person", "")];
    let fixture = TurnFixture::with_model(&model, tools, |_| ()).await;
    for (number, Case { calls, finish, failed }) in CASES.iter().enumerate() {
        let name = format!("{calls:?} {finish}");
        let chat = fixture.chat().await;
        let before = hook.calls.load(Ordering::SeqCst);
        let heard = ask(&fixture.client, &chat, &json!({"content": number.to_string()})).await;
        assert_eq!(text_of(&heard), "It is cold.", "{name}");
        fixture.idle(&chat).await;
        assert_eq!(hook.calls.load(Ordering::SeqCst) - before, calls.len() - failed.len(), "{name}");
        let read = model.requests().last().unwrap()["messages"].clone();
        let results: Vec<Value> =
            read.as_array().unwrap().iter().filter(|message| message["role"] == "tool").cloned().collect();
        assert_eq!(results.len(), calls.len(), "{name}: {read}");
        for (index, word) in *failed {
            let result = results[*index]["content"].to_string();
            assert!(result.contains(word), "{name}: {result}");
        }
        let shown = fixture.client.get(&format!("/api/chats/{chat}")).await.ok(200);
        let parts = list(list(&shown, "messages").last().unwrap(), "parts").to_vec();
        let states = parts.iter().filter(|part| !part["toolCallId"].is_null()).map(|part| part["state"].clone());
        let expected = (0..calls.len()).map(|index| {
            let is_failed = failed.iter().any(|(failed, _)| *failed == index);
            if is_failed { "output-error" } else { "output-available" }
        });
        assert_eq!(states.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{name}: {shown}");
        // Nothing waits, and a later turn works.
        let next = ask(&fixture.client, &chat, &json!({"content": "and now?"})).await;
        assert_eq!(text_of(&next), "It is cold.", "{name}");
    }
}
