//! Tenants cannot make a gateway call internal URLs or model servers of the deployment.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use egress::EgressConfig;
use serde_json::json;
use tests::errors::check_failure;
use tests::eventually::eventually;
use tests::operator::Operator;
use tests::stack::{Setup, Stack};
use tokio::net::TcpListener;
use tonic::Code::PermissionDenied;
use tonic::Status;
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::add_signing_key_request::Kind;

use crate::fixture::{begin, list, text};

fn webhook(url: &str) -> proto::AgentSettings {
    let tool = proto::ToolSettings {
        tool_name: "search".to_owned(),
        input_schema_json: "{}".to_owned(),
        webhook_url: url.to_owned(),
        needs_approval: true,
        ..proto::ToolSettings::default()
    };
    proto::AgentSettings {
        identity_mode: proto::IdentityMode::Trust.into(),
        model: Some(model("echo")),
        tools: vec![tool],
        frontend: Some(proto::FrontendSettings {
            tool_calls: proto::ToolCallDetail::Full.into(),
            ..proto::FrontendSettings::default()
        }),
        ..proto::AgentSettings::default()
    }
}

fn model(server: &str) -> proto::ModelSettings {
    proto::ModelSettings { server: server.to_owned(), model: "m".to_owned(), ..proto::ModelSettings::default() }
}

async fn set(operator: &Operator, settings: proto::AgentSettings) -> Result<(), Status> {
    let request =
        proto::SetAgentSettingsRequest { agent_id: "support".to_owned(), settings: Some(settings), update_mask: None };
    operator.registry().set_agent_settings(request).await.map(drop)
}

async fn add_jwks(operator: &Operator, url: &str) -> Result<(), Status> {
    let request = proto::AddSigningKeyRequest {
        tenant_id: "acme".to_owned(),
        signing_key_id: "provider".to_owned(),
        r#use: proto::SigningKeyUse::User.into(),
        kind: Some(Kind::JwksUrl(url.to_owned())),
        expires_at: None,
    };
    operator.registry().add_signing_key(request).await.map(drop)
}

/// Counts connections, and answers none.
async fn count_connections() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&count);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            counting.fetch_add(1, Ordering::SeqCst);
        }
    });
    (url, count)
}

/// A stack whose writer accepts loopback URLs, and whose gateway calls none of them.
async fn strict_gateway() -> (Stack, Operator) {
    let mut stack = Setup::tasks().prepare().await;
    stack.gateway.settings.gateway.egress = EgressConfig::default();
    stack.start().await;
    let operator = stack.operator().await;
    (stack, operator)
}

#[tokio::test(flavor = "multi_thread")]
async fn internal_servers_are_not_called() {
    let (stack, operator) = strict_gateway().await;
    let (url, connections) = count_connections().await;
    let agent = operator.agent("acme", "support").await;
    set(&operator, webhook(&url)).await.expect("settings");
    add_jwks(&operator, &url).await.expect("a signing key");
    let key = operator.api_key("support").await;
    let client = stack.http_client().with("x-api-key", &key.secret).with("x-user-id", "ada");
    eventually("a gateway that knows the key", || async {
        (client.get("/api/chats/none").await.status == 404).then_some(())
    })
    .await;
    let chat = begin(&client, &json!({})).await;
    let called = tests::events::call("c1", "{}");
    agent.append(&chat, vec![tests::events::user("q"), called]).await;
    let approved = json!({"approvals": [{"toolCallId": "c1", "approved": true}]});
    let answer = client.post(&format!("/api/chats/{chat}/messages"), &approved).await;
    assert_eq!(answer.status, 200);
    let result = eventually("a result of the call", || async {
        let shown = client.get(&format!("/api/chats/{chat}")).await.ok(200);
        let parts = list(list(&shown, "messages").get(1)?, "parts").to_vec();
        let call = parts.into_iter().find(|part| part["toolCallId"] == "c1")?;
        (call["state"] == "output-error").then(|| text(&call, "errorText").to_owned())
    })
    .await;
    assert!(result.contains("may not be called"), "{result}");
    let token = tests::jwt::user("a secret that nobody knows, of 32 bytes", "ada");
    let refused = client.with("x-user-token", &token).get("/api/chats").await;
    assert_eq!(refused.status, 503, "{:?}", refused.body);
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn model_servers_are_limited_to_their_tenants() {
    let mut stack = Setup::tasks().prepare().await;
    let kept = json!({"model_tenants": {"echo": ["globex"]}});
    stack.gateway.settings.gateway.egress = serde_json::from_value(kept.clone()).unwrap();
    stack.writer.settings.writer.egress =
        serde_json::from_value(json!({"model_tenants": {"own": ["globex"]}})).unwrap();
    stack.start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    // When the settings are set.
    let with = |server: &str| proto::AgentSettings {
        identity_mode: proto::IdentityMode::Trust.into(),
        model: Some(model(server)),
        ..proto::AgentSettings::default()
    };
    let refused = |field| (PermissionDenied, "MODEL_SERVER_NOT_ALLOWED", field);
    let own = set(&operator, with("own")).await;
    check_failure("own", own, refused("settings.model.server"));
    let summaries = proto::AgentSettings {
        summaries: Some(proto::SummarySettings {
            model: Some(model("own")),
            tokens_min: 1_000,
            ..proto::SummarySettings::default()
        }),
        ..with("echo")
    };
    let field = "settings.summaries.model.server";
    check_failure("summaries", set(&operator, summaries).await, refused(field));
    set(&operator, with("echo")).await.expect("a server of all tenants");
    // When a run starts.
    let key = operator.api_key("support").await;
    let client = stack.http_client().with("x-api-key", &key.secret).with("x-user-id", "ada");
    eventually("a gateway that knows the key", || async {
        (client.get("/api/chats/none").await.status == 404).then_some(())
    })
    .await;
    let chat = begin(&client, &json!({})).await;
    let answer = client.post(&format!("/api/chats/{chat}/messages"), &json!({"content": "q"})).await;
    let expected = (403, "MODEL_SERVER_NOT_ALLOWED".to_owned());
    assert_eq!(answer.status_and_code(), expected);
    let alone = client.post("/v1/chat", &json!({"message": "q"})).await;
    assert_eq!(alone.status_and_code(), expected);
}
