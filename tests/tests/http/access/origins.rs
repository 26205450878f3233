//! Pages of origins that a key does not allow are refused, also with a valid key and session.

use serde_json::json;
use wire::proto::operate::v1 as proto;

use crate::ground::{AGENT, Ground};

#[tokio::test(flavor = "multi_thread")]
async fn a_page_needs_its_origin_on_the_key() {
    let ground = Ground::new().await;
    let request = proto::CreateApiKeyRequest {
        agent_id: AGENT.to_owned(),
        allowed_origins: vec!["https://shop.example".to_owned()],
        ..proto::CreateApiKeyRequest::default()
    };
    let made = ground.operator.registry().create_api_key(request).await;
    let secret = made.unwrap().into_inner().secret;
    let door = ground.stack.door().with("x-api-key", &secret);
    let door = door.with("x-session-id", "s");
    let check = async |origin: Option<&str>, status: u16, allowed: Option<&str>| {
        let door = origin.map_or(door.clone(), |origin| door.with("origin", origin));
        let answer = door.post("/api/chats", &json!({})).await;
        assert_eq!(answer.status, status, "{origin:?}");
        let told = answer.headers.get("access-control-allow-origin");
        assert_eq!(told.map(String::as_str), allowed, "{origin:?}");
    };
    check(None, 201, None).await;
    check(
        Some("https://shop.example"),
        201,
        Some("https://shop.example"),
    )
    .await;
    check(Some("https://evil.example"), 403, None).await;
    check(Some("null"), 403, None).await;
}
