//! Who may approve a call, the request to its webhook, and its signature.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::{Value, json};
use tests::events::{call, user};
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::{Approvers, IdentityMode};

use crate::fixture::{Fixture, begin, list};

type PostedRequests = Arc<Mutex<Vec<(HeaderMap, String)>>>;

/// A webhook, and the requests that it received.
async fn start_webhook() -> (String, PostedRequests) {
    let posted = PostedRequests::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let take = async |State(posted): State<PostedRequests>, headers: HeaderMap, body: String| {
        posted.lock().unwrap().push((headers, body));
        axum::Json(json!({"done": true}))
    };
    let routes = Router::new().route("/hook", post(take)).with_state(Arc::clone(&posted));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (url, posted)
}

async fn set(fixture: &Fixture, url: &str, approvers: Approvers) {
    let tool = proto::ToolSettings {
        tool_name: "search".to_owned(),
        input_schema_json: "{}".to_owned(),
        webhook_url: url.to_owned(),
        needs_approval: true,
        ..proto::ToolSettings::default()
    };
    let settings = proto::AgentSettings {
        identity_mode: IdentityMode::Signed.into(),
        model: Some(proto::ModelSettings { server: "echo".to_owned(), ..proto::ModelSettings::default() }),
        tools: vec![tool],
        approvers: approvers.into(),
        ..proto::AgentSettings::default()
    };
    fixture.operator.settings(fixture.agent_id, settings).await;
}

/// A new chat of the caller with a call that waits for approval.
async fn chat_with_call(fixture: &Fixture, client: &HttpClient) -> String {
    let chat = begin(client, &json!({})).await;
    fixture.agent.append(&chat, vec![user("q"), call("c1", r#"{"q": 1}"#)]).await;
    chat
}

fn decision(approved: bool) -> Value {
    json!({"approvals": [{"toolCallId": "c1", "approved": approved}]})
}

/// The state of the call.
async fn state(client: &HttpClient, chat: &str) -> String {
    let shown = client.get(&format!("/api/chats/{chat}")).await.ok(200);
    let messages = list(&shown, "messages").iter();
    let mut parts = messages.flat_map(|message| list(message, "parts"));
    let call = parts.find(|part| part["toolCallId"] == "c1").unwrap();
    call["state"].as_str().unwrap().to_owned()
}

async fn wait_for_state(client: &HttpClient, chat: &str, expected: &str) {
    eventually("a decided call", || async { (state(client, chat).await == expected).then_some(()) }).await;
}

/// Waits until the gateway applies the settings, with separate calls.
async fn wait_for_settings(fixture: &Fixture, posted: &PostedRequests, session_may: bool) {
    let client = fixture.issued_session().await;
    eventually("the agent's settings", || async {
        let chat = chat_with_call(fixture, &client).await;
        let path = format!("/api/chats/{chat}/messages");
        // The stream ends after the call was posted.
        let status = client.post(&path, &decision(true)).await.status;
        let is_posted = !posted.lock().unwrap().is_empty();
        let is_applied = if session_may { is_posted } else { status == 403 };
        is_applied.then_some(())
    })
    .await;
    posted.lock().unwrap().clear();
}

/// A caller decides on a call; after a rejection, an administrator decides.
async fn decide(fixture: &Fixture, client: &HttpClient, (may, approved): (bool, bool)) {
    let chat = chat_with_call(fixture, client).await;
    let path = format!("/api/chats/{chat}/messages");
    let answer = client.post(&path, &decision(approved)).await;
    if may {
        assert_eq!(answer.status, 200);
    } else {
        assert_eq!(answer.status_and_code(), (403, "APPROVAL_NOT_ALLOWED".to_owned()));
        assert_eq!(state(client, &chat).await, "approval-requested");
        let path = format!("/v1/admin/conversations/{chat}/approvals");
        let begun = fixture.admin().post(&path, &decision(approved)).await.ok(202);
        assert!(begun["runId"].is_string());
    }
    let expected = if approved { "output-available" } else { "output-denied" };
    wait_for_state(client, &chat, expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_settings_define_who_may_approve() {
    let fixture = Fixture::new().await;
    let (url, posted) = start_webhook().await;
    for (approvers, session_may, user_may) in
        [(Approvers::Owner, true, true), (Approvers::User, false, true), (Approvers::Administrator, false, false)]
    {
        set(&fixture, &url, approvers).await;
        wait_for_settings(&fixture, &posted, session_may).await;
        for (client, may) in [(fixture.issued_session().await, session_may), (fixture.user("ada"), user_may)] {
            for approved in [true, false] {
                decide(&fixture, &client, (may, approved)).await;
            }
        }
        // Independent of the approver, the webhook only gets users with a token.
        let posted = std::mem::take(&mut *posted.lock().unwrap());
        let bodies: Vec<Value> = posted.iter().map(|(_, body)| body.parse::<Value>().unwrap()).collect();
        let users: Vec<&Value> = bodies.iter().map(|body| &body["user_id"]).collect();
        assert_eq!(users, [&json!(null), &json!("ada")]);
        for body in &bodies {
            assert_eq!((&body["tenant_id"], &body["agent_id"]), (&json!(fixture.tenant), &json!(fixture.agent_id)));
            assert!(body["conversation_id"].is_string() && body["run_id"].is_string());
        }
    }
}

/// Whether a call is signed with a secret, checked as a receiver does.
fn is_signed(secret: &str, (headers, body): &(HeaderMap, String)) -> bool {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let text = |name: &str| headers.get(name).map_or("", |value| value.to_str().unwrap());
    let signed = format!("{}.{}.{body}", text("webhook-id"), text("webhook-timestamp"));
    let expected = format!("v1,{}", STANDARD.encode(hmac::sign(&key, signed.as_bytes())));
    text("webhook-signature").split(' ').any(|signature| signature == expected)
}

async fn rotate(fixture: &Fixture, overlap_seconds: u32) -> String {
    let request = proto::RotateWebhookSecretRequest { agent_id: fixture.agent_id.to_owned(), overlap_seconds };
    let rotated = fixture.operator.registry().rotate_webhook_secret(request).await;
    rotated.unwrap().into_inner().secret
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_signed_with_rotating_secrets() {
    let fixture = Fixture::new().await;
    let (url, posted) = start_webhook().await;
    set(&fixture, &url, Approvers::Owner).await;
    wait_for_settings(&fixture, &posted, true).await;
    let client = fixture.issued_session().await;
    // Until a call is signed with exactly these secrets.
    let check = async |secrets: &[&String], retired: &[&String]| {
        eventually("a signed call", || async {
            let chat = chat_with_call(&fixture, &client).await;
            let path = format!("/api/chats/{chat}/messages");
            if client.post(&path, &decision(true)).await.status != 200 {
                return None;
            }
            let last = posted.lock().unwrap().last().cloned()?;
            let is_by = |secret: &&String| is_signed(secret, &last);
            (secrets.iter().all(is_by) && !retired.iter().any(is_by)).then_some(())
        })
        .await;
    };
    let first = rotate(&fixture, 0).await;
    check(&[&first], &[]).await;
    let second = rotate(&fixture, 600).await;
    check(&[&first, &second], &[]).await;
    let third = rotate(&fixture, 0).await;
    check(&[&third], &[&first, &second]).await;
    let (headers, _) = posted.lock().unwrap().last().cloned().unwrap();
    assert_eq!(headers["webhook-id"], headers["idempotency-key"]);
    let at: i64 = headers["webhook-timestamp"].to_str().unwrap().parse().unwrap();
    assert!((tests::jwt::seconds_from_now(0) - at).abs() < 60, "{at}");
    let past = proto::RotateWebhookSecretRequest { agent_id: fixture.agent_id.to_owned(), overlap_seconds: 2_592_001 };
    let refused = fixture.operator.registry().rotate_webhook_secret(past).await;
    let expected = (tonic::Code::InvalidArgument, "FIELD_OUT_OF_RANGE", "overlap_seconds");
    tests::errors::check_failure("past the bound", refused, expected);
}
