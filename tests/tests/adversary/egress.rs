//! A tenant's operator configures URLs of internal servers for calls by a gateway.

use serde_json::json;
use tests::errors::check_failure;
use tonic::Code::InvalidArgument;
use tonic::Status;
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::add_signing_key_request::Kind;

use crate::fixture::Fixture;

/// Internal servers, in every notation of a URL.
const INSIDE: [&str; 13] = [
    "http://nats:8222/connz",
    "https://nats:8222/connz",
    "http://hooks.example/",
    "https://postgres:5432/",
    "https://127.0.0.1:8222/connz",
    "https://127.1:8222/connz",
    "https://2130706433:8222/connz",
    "https://0x7f.1:8222/connz",
    "https://localhost.:8222/connz",
    "https://169.254.169.254/latest/meta-data/",
    "https://[::ffff:10.0.0.1]/",
    "https://[64:ff9b::10.0.0.1]/",
    "https://[fd00::1]/",
];

async fn set(fixture: &Fixture, url: &str) -> Result<(), Status> {
    let tool = proto::ToolSettings {
        tool_name: "search".to_owned(),
        input_schema_json: "{}".to_owned(),
        webhook_url: url.to_owned(),
        ..proto::ToolSettings::default()
    };
    let request = proto::SetAgentSettingsRequest {
        agent_id: "support".to_owned(),
        settings: Some(proto::AgentSettings { tools: vec![tool], ..proto::AgentSettings::default() }),
        update_mask: None,
    };
    let mut registry = fixture.operator().await.registry();
    registry.set_agent_settings(request).await.map(drop)
}

async fn add(fixture: &Fixture, url: &str) -> Result<(), Status> {
    let request = proto::AddSigningKeyRequest {
        tenant_id: "acme".to_owned(),
        signing_key_id: "provider".to_owned(),
        r#use: proto::SigningKeyUse::User.into(),
        kind: Some(Kind::JwksUrl(url.to_owned())),
        expires_at: None,
    };
    let mut registry = fixture.operator().await.registry();
    registry.add_signing_key(request).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn internal_servers_cannot_be_configured() {
    let fixture = Fixture::start().await;
    fixture.operator().await.agent("acme", "support").await;
    let monitor = fixture.stack.servers.nats().monitor_url();
    for url in INSIDE.into_iter().chain([monitor.as_str()]) {
        let refused = |field| (InvalidArgument, "DESTINATION_NOT_ALLOWED", field);
        let field = "settings.tools[0].webhook_url";
        check_failure(url, set(&fixture, url).await, refused(field));
        check_failure(url, add(&fixture, url).await, refused("jwks_url"));
    }
    set(&fixture, "https://hooks.example/x").await.expect("a public server");
    // No answer of the gateway contains any of it.
    let answer = fixture.stranger().post("/v1/chat", &json!({"message": "q"})).await;
    assert_eq!(answer.status, 401);
}
