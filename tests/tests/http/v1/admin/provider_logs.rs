//! The log of requests to model servers and their replies: only if an agent's settings enable it, without secrets, for
//! the administrators of its tenant.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use domain::Sequence;
use event_log::{LoggedSubject, Record};
use futures::StreamExt as _;
use serde_json::{Value, json};
use tests::eventually::{eventually, within};
use tests::http_client::HttpClient;
use tokio::net::TcpListener;
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::ProviderLogDetail;

use crate::fixture::{Fixture, begin, list, text};

const LOGS: &str = "/v1/admin/provider-logs";
const SECRET: &str = "hunter22-of-the-moon";
/// The model server's text, split so that the secret is in two pieces.
const TEXT_PIECES: [&str; 2] = ["{\"password\": \"hunter22", "-of-the-moon\"}"];

/// A model server that is busy at its first request, and answers the others.
async fn model_server() -> SocketAddr {
    let asked = Arc::new(AtomicUsize::new(0));
    let answer = move || {
        let first = asked.fetch_add(1, Ordering::Relaxed) == 0;
        async move { if first { busy() } else { answer() } }
    };
    let routes = Router::new().route("/chat/completions", post(answer));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    addr
}

fn busy() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "0")]).into_response()
}

fn answer() -> Response {
    let event = |choice: Value| format!("data: {}\n\n", json!({"id": "r", "choices": [choice]}));
    let deltas = TEXT_PIECES.iter().map(|text| json!({"index": 0, "delta": {"content": text}}));
    let last = json!({"index": 0, "delta": {}, "finish_reason": "stop"});
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 4});
    let cost = json!({"id": "r", "choices": [], "usage": usage});
    let events = deltas.map(event).chain([event(last), format!("data: {cost}\n\n"), "data: [DONE]\n\n".to_owned()]);
    let body: String = events.collect();
    ([("content-type", "text/event-stream")], body).into_response()
}

/// A system whose gateway has the model server.
async fn fixture() -> Fixture {
    let addr = model_server().await;
    Fixture::with(|gateway| {
        let url = format!("http://{addr}");
        let busy = json!({"busy": {"kind": "openai_chat", "base_url": url, "api_key": "sk-of-ours"}});
        gateway.models = serde_json::from_value(busy).unwrap();
    })
    .await
}

/// Enables the log of an agent, and waits until the gateway applies that.
async fn set(fixture: &Fixture, server: &str, detail: ProviderLogDetail) {
    let settings = proto::AgentSettings {
        identity_mode: proto::IdentityMode::Issued.into(),
        model: Some(proto::ModelSettings {
            server: server.to_owned(),
            model: "m".to_owned(),
            ..proto::ModelSettings::default()
        }),
        provider_logs: Some(proto::ProviderLogSettings { detail: detail.into(), days: 3 }),
        ..proto::AgentSettings::default()
    };
    fixture.operator.settings(fixture.agent_id, settings).await;
    let named = fixture.frontend().with("x-user-id", "ada");
    eventually("a gateway that knows the settings", || async {
        (named.get("/api/chats/none").await.status != 404).then_some(())
    })
    .await;
}

/// A chat with a message and its answer.
async fn chat(fixture: &Fixture) -> String {
    chat_in(&fixture.issued_session().await).await
}

async fn chat_in(session: &HttpClient) -> String {
    let chat = begin(session, &json!({})).await;
    let answer = json!({"content": format!("the password: {SECRET}")});
    let path = format!("/api/chats/{chat}/messages");
    assert_eq!(session.post(&path, &answer).await.status, 200);
    chat
}

async fn logs(client: &HttpClient, query: &str) -> Vec<Value> {
    let page = client.get(&format!("{LOGS}{query}")).await.ok(200);
    list(&page, "logs").to_vec()
}

async fn wait_for_logs(client: &HttpClient, count: usize) -> Vec<Value> {
    eventually("logged calls", || async {
        let logs = logs(client, "").await;
        (logs.len() >= count).then_some(logs)
    })
    .await
}

async fn record(fixture: &Fixture) -> Record {
    let config = tests::settings::record(&fixture.stack.servers);
    Record::open(config).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_logged_only_when_enabled() {
    let fixture = fixture().await;
    chat(&fixture).await;
    set(&fixture, "echo", ProviderLogDetail::Off).await;
    chat(&fixture).await;
    // A later call would follow it in the stream.
    enable_log(&fixture).await;
    let seen = wait_for_logs(&fixture.admin(), 1).await;
    assert_eq!(seen.len(), 1, "{seen:?}");
    // The first logged call in the stream is that one; the stream also has metered calls.
    let mut stored = record(&fixture).await.follow_logs(Sequence(0));
    let first = within("a logged call", async {
        loop {
            let message = stored.next().await.unwrap().unwrap();
            if let LoggedSubject::Conversation(key) = message.subject {
                break key;
            }
        }
    })
    .await;
    assert_eq!(first.conversation.as_str(), text(&seen[0], "conversationId"));
}

/// Enables the log, and sends messages until a call is logged.
async fn enable_log(fixture: &Fixture) {
    let settings = proto::AgentSettings {
        identity_mode: proto::IdentityMode::Open.into(),
        provider_logs: Some(proto::ProviderLogSettings { detail: ProviderLogDetail::Facts.into(), days: 0 }),
        ..tests::operator::echo()
    };
    fixture.operator.settings(fixture.agent_id, settings).await;
    let named = fixture.frontend().with("x-user-id", "ada");
    eventually("a gateway that knows the settings", || async {
        (named.get("/api/chats/none").await.status == 404).then_some(())
    })
    .await;
    chat(fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_try_is_logged_without_secrets() {
    let fixture = fixture().await;
    set(&fixture, "busy", ProviderLogDetail::Bodies).await;
    let chat = chat(&fixture).await;
    let admin = fixture.admin();
    let seen = wait_for_logs(&admin, 2).await;
    let facts = |log: &Value| json!([log["attempt"], log["httpStatus"], log["outcome"], log["finishReason"]]);
    let facts: Vec<Value> = seen.iter().map(facts).collect();
    assert_eq!(facts, [json!([2, 200, "finished", "stop"]), json!([1, 503, "model_unavailable", null])]);
    let (last, first) = (&seen[0], &seen[1]);
    for log in [last, first] {
        assert_eq!(
            [&log["agentId"], &log["conversationId"], &log["modelServer"], &log["model"]],
            [fixture.agent_id, chat.as_str(), "busy", "m"]
        );
        assert!(log.get("request").is_none(), "a listing shows no body");
    }
    assert_eq!(last["usage"]["inputTokens"], 9);
    assert!(last["firstPieceMs"].as_u64().unwrap() <= last["tookMs"].as_u64().unwrap());
    assert!(last["replyBytes"].as_u64().unwrap() > 0);
    let whole = admin.get(&format!("{LOGS}/{}", text(last, "id"))).await.ok(200);
    let asked = text(&whole["request"], "text");
    assert!(asked.contains("the password: [redacted:password]"), "{asked}");
    let answered = text(&whole["reply"], "text");
    assert!(answered.contains("[redacted:password]"), "{answered}");
    let mut stored = record(&fixture).await.follow_logs(Sequence(0));
    // Two logged calls, and a metered one.
    for _ in 0..3 {
        let message = within("a call", stored.next()).await.unwrap().unwrap();
        for secret in [SECRET.as_bytes(), b"sk-of-ours"] {
            let mut windows = message.bytes.windows(secret.len());
            assert!(!windows.any(|window| window == secret));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_read_only_logs_of_their_tenant() {
    let fixture = fixture().await;
    set(&fixture, "echo", ProviderLogDetail::Bodies).await;
    let session = fixture.issued_session().await;
    let (one, other) = (chat(&fixture).await, chat_in(&session).await);
    let admin = fixture.admin();
    let seen = wait_for_logs(&admin, 2).await;
    let check = async |query: String, expected: &[&String]| {
        let page = logs(&admin, &query).await;
        let found: Vec<&str> = page.iter().map(|log| text(log, "conversationId")).collect();
        assert_eq!(found, expected, "{query}");
    };
    check(String::new(), &[&other, &one]).await;
    check(format!("?conversationId={one}"), &[&one]).await;
    check(format!("?agentId={}&outcome=finished", fixture.agent_id), &[&other, &one]).await;
    check("?outcome=dropped".to_owned(), &[]).await;
    check(format!("?agentId={}", fixture.other_agent_id), &[]).await;
    let began = text(&seen[0], "startedAt");
    check(format!("?startedAfter={began}"), &[&other]).await;
    check(format!("?startedBefore={began}"), &[&one]).await;
    let page = admin.get(&format!("{LOGS}?limit=1")).await.ok(200);
    let cursor = text(&page, "nextCursor");
    check(format!("?limit=1&cursor={cursor}"), &[&one]).await;
    for (query, field) in [
        ("?limit=201", "limit"),
        ("?cursor=x", "cursor"),
        ("?startedAfter=yesterday", "startedAfter"),
        ("?agentId=a.b", "agentId"),
        ("?outcome=", "outcome"),
    ] {
        let answer = admin.get(&format!("{LOGS}{query}")).await;
        assert_eq!((answer.status, text(&answer.json(), "field")), (400, field));
    }
    let foreign = fixture.foreign_admin();
    assert_eq!(logs(&foreign, "").await, [Value::Null; 0]);
    let path = format!("{LOGS}/{}", text(&seen[0], "id"));
    let (theirs, missing) = (foreign.get(&path).await, admin.get(&format!("{LOGS}/x")).await);
    assert_eq!(theirs.status_and_code(), (404, "PROVIDER_LOG_NOT_FOUND".to_owned()));
    assert_eq!(theirs.body, missing.body);
    // Erased entries are gone at once, also if the rows lag.
    session.erase(&format!("/api/chats/{other}")).await;
    assert_eq!(admin.get(&path).await.status, 404);
    eventually("rows without it", || async { (logs(&admin, "").await.len() == 1).then_some(()) }).await;
}
