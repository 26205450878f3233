//! Tool calls: posted to webhooks, up to a limit of steps, or left open for the client or an approval.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use domain::event::{ToolOutcome, ToolOutput, ToolReturned};
use domain::{Annotation, Fact, JsonText, Part, RecordedEvent, RunOutcome};
use generation::{ANSWER_BYTES_MAX, RetryKey, Start, webhook_key};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::time::Instant;
use wire::proto::operate::v1::{AgentSettings, ToolSettings};

use crate::chat::Chat;
use crate::fake_server::{self, NAME, Reply};
use crate::node::Node;
use crate::stack::{DEADLINE, Stack, abandon_soon, answered_by, run, shared};
use crate::texts::{answers, call_id, user};

/// The posted requests: idempotency key and body.
type Posted = Arc<Mutex<Vec<(String, Value)>>>;

/// Webhooks: `/weather`, `/text`, `/broken`, `/away` (redirects), `/long`, `/hang` (never answers).
async fn webhooks() -> (SocketAddr, Posted) {
    let posted = Posted::default();
    let routes = Router::new().route("/{name}", post(hook)).with_state(Arc::clone(&posted));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (addr, posted)
}

async fn hook(
    axum::extract::Path(name): axum::extract::Path<String>,
    State(posted): State<Posted>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let key = headers["idempotency-key"].to_str().unwrap().to_owned();
    let body = serde_json::from_str(&body).unwrap();
    posted.lock().unwrap().push((key, body));
    let json = [("content-type", "application/json")];
    match name.as_str() {
        "weather" => (json, r#"{"sun": true}"#).into_response(),
        "text" => "plain".into_response(),
        "hang" => std::future::pending().await,
        "long" => "x".repeat(ANSWER_BYTES_MAX + 1).into_response(),
        "away" => (StatusCode::FOUND, [("location", "/weather")]).into_response(),
        _ => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn tool(name: &str, hooks: Option<SocketAddr>) -> ToolSettings {
    ToolSettings {
        tool_name: name.to_owned(),
        input_schema_json: r#"{"type": "object"}"#.to_owned(),
        webhook_url: hooks.map_or_else(String::new, |addr| format!("http://{addr}/{name}")),
        ..ToolSettings::default()
    }
}

async fn agent(stack: &Stack, tools: Vec<ToolSettings>, steps_max: u32) -> Chat<'_> {
    let mut settings = AgentSettings { tools, ..answered_by(NAME) };
    settings.model.as_mut().unwrap().steps_max = steps_max;
    let agent = stack.agent(settings).await;
    Chat::begin(stack, &agent).await
}

fn returned(events: &[RecordedEvent]) -> Vec<&ToolReturned> {
    let returned = events.iter().filter_map(|event| match &event.event.fact {
        Fact::ToolReturned(returned) => Some(returned),
        _ => None,
    });
    returned.collect()
}

#[test]
fn webhooks_answer_and_the_model_reads_it() {
    run(async {
        let stack = shared().await;
        let (hooks, posted) = webhooks().await;
        let input = r#"{"city":"Bern"}"#;
        let calls = vec![("c1", "weather", input), ("c2", "text", "{}")];
        let replies = vec![Reply::Calls(calls), Reply::Text("sunny")];
        let (server, node) = Node::with_replies(stack, replies).await;
        let tools = vec![tool("weather", Some(hooks)), tool("text", Some(hooks))];
        let chat = agent(stack, tools, 0).await;
        let handle = chat.say(&node, "what's the weather?").await;
        let (outcome, events) = chat.wait_for_finish(&node, handle.run).await;
        assert_eq!(outcome, RunOutcome::Completed);
        assert_eq!(answers(&events).last().unwrap(), "sunny");
        let results = returned(&events);
        let json = ToolOutput::Json(JsonText::parse(r#"{"sun": true}"#).unwrap());
        assert_eq!(results[0].output, json);
        let text = ToolOutput::Parts(vec![Part::Text("plain".to_owned())]);
        assert_eq!(results[1].output, text);
        let mut posted = posted.lock().unwrap().clone();
        posted.sort_by_key(|(_, body)| body["call_id"].to_string());
        assert_eq!(posted[0].1["call_id"], "c1");
        assert_eq!(posted[0].1["tool_name"], "weather");
        assert_eq!(posted[0].1["input"]["city"], "Bern");
        assert_eq!(posted[0].1["run_id"], handle.run.to_string());
        // The second step reads the first one, which is not committed yet.
        let requests = server.requests();
        let messages = requests[1]["messages"].as_array().unwrap().iter();
        let roles: Vec<_> = messages.map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "tool"]);
    });
}

#[test]
fn a_webhook_that_fails_gives_a_failed_result() {
    run(async {
        let stack = shared().await;
        let (hooks, _) = webhooks().await;
        let away = "127.0.0.1:1".parse().unwrap();
        for (name, at, expected) in [
            ("broken", hooks, "the tool answered with status 500"),
            ("away", hooks, "the tool answered with status 302"),
            ("long", hooks, "the tool's answer is longer than 262144 bytes"),
            ("gone", away, "the tool cannot be reached"),
        ] {
            let replies = vec![Reply::Calls(vec![("c", name, "{}")]), Reply::Text("pity")];
            let (_server, node) = Node::with_replies(stack, replies).await;
            let chat = agent(stack, vec![tool(name, Some(at))], 0).await;
            let handle = chat.say(&node, "x").await;
            let (outcome, events) = chat.wait_for_finish(&node, handle.run).await;
            assert_eq!(outcome, RunOutcome::Completed);
            let result = returned(&events)[0];
            assert_eq!(result.outcome, ToolOutcome::Failed);
            let expected = ToolOutput::Parts(vec![Part::Text(expected.to_owned())]);
            assert_eq!(result.output, expected);
            assert_eq!(answers(&events).last().unwrap(), "pity");
        }
    });
}

#[test]
fn a_webhook_that_the_deployment_does_not_allow_is_not_called() {
    run(async {
        let stack = shared().await;
        let (hooks, posted) = webhooks().await;
        let replies = vec![Reply::Calls(vec![("c", "text", "{}")]), Reply::Text("pity")];
        let server = fake_server::start(replies).await;
        let strict = |config: &mut gateway::GatewayConfig| {
            server.join(config);
            config.egress = egress::EgressConfig::default();
        };
        let node = Node::start_with(stack, strict).await;
        let chat = agent(stack, vec![tool("text", Some(hooks))], 0).await;
        let handle = chat.say(&node, "x").await;
        let (_, events) = chat.wait_for_finish(&node, handle.run).await;
        let text = "the tool is at an address that may not be called".to_owned();
        let result = returned(&events)[0];
        assert_eq!(result.output, ToolOutput::Parts(vec![Part::Text(text)]));
        assert_eq!(posted.lock().unwrap().len(), 0);
    });
}

#[test]
fn the_number_of_steps_is_limited() {
    run(async {
        let stack = shared().await;
        let (hooks, posted) = webhooks().await;
        for steps_max in [1, 3] {
            let calls = |id| Reply::Calls(vec![(id, "text", "{}")]);
            let (server, node) = Node::with_replies(stack, vec![calls("a"), calls("b"), calls("c"), calls("d")]).await;
            let chat = agent(stack, vec![tool("text", Some(hooks))], steps_max).await;
            posted.lock().unwrap().clear();
            let handle = chat.say(&node, "x").await;
            let (outcome, _) = chat.wait_for_finish(&node, handle.run).await;
            assert_eq!(outcome, RunOutcome::Completed);
            let steps = usize::try_from(steps_max).unwrap();
            assert_eq!(server.requests().len(), steps);
            assert_eq!(posted.lock().unwrap().len(), steps);
        }
    });
}

#[test]
fn a_call_for_the_client_stays_open() {
    run(async {
        let stack = shared().await;
        let (hooks, posted) = webhooks().await;
        let calls = vec![("c1", "text", "{}"), ("c2", "mine", "{}")];
        let (server, node) = Node::with_replies(stack, vec![Reply::Calls(calls), Reply::Text("thanks")]).await;
        let tools = vec![tool("text", Some(hooks)), tool("mine", None)];
        let chat = agent(stack, tools, 0).await;
        let handle = chat.say(&node, "x").await;
        let (outcome, events) = chat.wait_for_finish(&node, handle.run).await;
        assert_eq!((outcome, returned(&events).len()), (RunOutcome::Completed, 1));
        assert_eq!(posted.lock().unwrap().len(), 1);
        let answer = Fact::ToolReturned(ToolReturned {
            call_id: call_id("c2"),
            tool_name: None,
            output: ToolOutput::Json(JsonText::parse("7").unwrap()),
            outcome: ToolOutcome::Succeeded,
        });
        let handle = chat.start(&node, vec![answer]).await.unwrap();
        let (_, events) = chat.wait_for_finish(&node, handle.run).await;
        assert_eq!(answers(&events).last().unwrap(), "thanks");
        assert_eq!(server.requests().len(), 2);
    });
}

#[test]
fn a_pending_approval_survives_a_restart() {
    run(async {
        let stack = shared().await;
        let (hooks, posted) = webhooks().await;
        let calls = Reply::Calls(vec![("c1", "weather", r#"{"city":"Bern"}"#)]);
        let server = fake_server::start(vec![calls, Reply::Text("sunny")]).await;
        let approved = ToolSettings { needs_approval: true, ..tool("weather", Some(hooks)) };
        let chat = agent(stack, vec![approved], 0).await;
        let node = Node::start_with(stack, |config| server.join(config)).await;
        let handle = chat.say(&node, "x").await;
        chat.wait_for_finish(&node, handle.run).await;
        assert!(posted.lock().unwrap().is_empty());
        node.kill();
        let node = Node::start_with(stack, |config| server.join(config)).await;
        let handle = chat
            .start_with(&node, vec![], |start| {
                start.approved_calls = vec![call_id("c1"), call_id("no such call")];
            })
            .await
            .unwrap();
        let (_, events) = chat.wait_for_finish(&node, handle.run).await;
        assert_eq!(answers(&events).last().unwrap(), "sunny");
        let posted = posted.lock().unwrap().clone();
        assert_eq!(posted.len(), 1);
        assert_eq!(posted[0].1["input"]["city"], "Bern");
    });
}

#[test]
fn each_call_has_a_unique_idempotency_key() {
    run(async {
        let stack = shared().await;
        let (hooks, posted) = webhooks().await;
        let calls = || Reply::Calls(vec![("call_1", "weather", "{}")]);
        let mut settings = AgentSettings { tools: vec![tool("weather", Some(hooks))], ..answered_by(NAME) };
        settings.model.as_mut().unwrap().steps_max = 3;
        let agent = stack.agent(settings).await;
        let command = crate::texts::new_key();
        let mut keys = Vec::new();
        // Models repeat the ids of calls, and callers may use one idempotency key in two conversations.
        for _ in 0..2 {
            let (_server, node) = Node::with_replies(stack, vec![calls(), calls(), Reply::Text("sunny")]).await;
            let chat = Chat::begin(stack, &agent).await;
            let named = |start: &mut Start| start.retry = RetryKey::Given(command);
            let handle = chat.start_with(&node, vec![user("x")], named).await.unwrap();
            let (_, events) = chat.wait_for_finish(&node, handle.run).await;
            let posts: Vec<String> =
                std::mem::take(&mut *posted.lock().unwrap()).into_iter().map(|(key, _)| key).collect();
            let made = events
                .iter()
                .filter(|event| matches!(event.event.fact, Fact::ToolCalled(_)))
                .map(|event| webhook_key(&chat.key, event.event.id).to_string());
            // The key can be derived from the record.
            assert_eq!(posts, made.collect::<Vec<_>>());
            keys.extend(posts);
        }
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 4, "{keys:?}");
    });
}

#[test]
fn a_repeated_post_has_the_same_idempotency_key() {
    run(async {
        let nats = devstack::test::nats().await;
        let stack = Stack::over(&nats).await;
        let (hooks, posted) = webhooks().await;
        let calls = Reply::Calls(vec![("call_1", "hang", "{}")]);
        let (server, node) = Node::with_replies(&stack, vec![calls, Reply::Text("sunny")]).await;
        let chat = agent(&stack, vec![tool("hang", Some(hooks))], 0).await;
        let handle = chat.say(&node, "x").await;
        let keys = || {
            let posted = posted.lock().unwrap();
            posted.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>()
        };
        eventually(|| (keys().len() == 1).then_some(())).await;
        chat.wait_for_step(&node, handle.run).await;
        // The gateway is killed while the tool works, and another one ends the run. A person approves the call again.
        node.kill();
        let sweeping = Node::start_with(&stack, abandon_soon).await;
        chat.wait_for_finish(&sweeping, handle.run).await;
        sweeping.kill();
        let node = Node::start_with(&stack, |config| server.join(config)).await;
        let approve = |start: &mut Start| start.approved_calls = vec![call_id("call_1")];
        let again = chat.start_with(&node, vec![], approve).await.unwrap();
        eventually(|| (keys().len() == 2).then_some(())).await;
        chat.stop(&node, again.run).await;
        let keys = keys();
        assert_eq!(keys[0], keys[1]);
        stack.shutdown.begin();
    });
}

/// Awaits a condition.
async fn eventually<T>(mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(met) = condition() {
            return met;
        }
        assert!(Instant::now() < deadline, "it never comes");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn a_repeated_call_id_does_not_block_later_runs() {
    run(async {
        let stack = shared().await;
        let calls = Reply::Calls(vec![("c1", "mine", "{}")]);
        let (_server, node) = Node::with_replies(stack, vec![calls.clone(), calls, Reply::Text("ok")]).await;
        let chat = agent(stack, vec![tool("mine", None)], 0).await;
        // The model repeats the id of an open call: the second call cannot be recorded.
        for _ in 0..2 {
            let handle = chat.start(&node, vec![user("x")]).await.unwrap();
            chat.wait_for_finish(&node, handle.run).await;
        }
        let handle = chat.start(&node, vec![user("x")]).await.unwrap();
        let (outcome, events) = chat.wait_for_finish(&node, handle.run).await;
        assert_eq!(outcome, RunOutcome::Completed);
        assert_eq!(answers(&events).last().unwrap(), "ok");
        let unrecordable = events.iter().any(|event| match &event.event.fact {
            Fact::Annotation(Annotation::ErrorOccurred(error)) => error.error_type.as_str() == "run_unrecordable",
            _ => false,
        });
        assert!(unrecordable);
    });
}
