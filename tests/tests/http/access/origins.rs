//! Pages of origins that a key does not allow are rejected, also with a valid key and session.

use serde_json::json;
use tests::eventually::eventually;
use wire::proto::operate::v1 as proto;

use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread")]
async fn administrator_pages_need_an_origin_of_the_tenant() {
    let fixture = Fixture::new().await;
    let keys = [(fixture.agent_id, "https://shop.example"), (fixture.foreign_agent_id, "https://globex.example")];
    for key in [&fixture.key, &fixture.other_key, &fixture.foreign_key] {
        fixture.operator.revoke_api_key(key).await;
    }
    for (agent, origin) in keys {
        let request = proto::CreateApiKeyRequest {
            agent_id: agent.to_owned(),
            allowed_origins: vec![origin.to_owned()],
            ..proto::CreateApiKeyRequest::default()
        };
        fixture.operator.registry().create_api_key(request).await.expect("an API key");
    }
    let path = "/v1/admin/conversations";
    let page = |origin: &str| fixture.admin().with("origin", origin);
    let allowed = eventually("a gateway that knows the keys", || async {
        let answer = page("https://shop.example").get(path).await;
        (answer.status == 200).then_some(answer)
    })
    .await;
    let allowed_origin = &allowed.headers["access-control-allow-origin"];
    assert_eq!(allowed_origin, "https://shop.example");
    for other in ["https://globex.example", "https://evil.example", "null"] {
        let refused = page(other).get(path).await;
        let expected = (403, "ORIGIN_NOT_ALLOWED".to_owned());
        assert_eq!(refused.status_and_code(), expected, "{other}");
        assert!(!refused.headers.contains_key("access-control-allow-origin"));
    }
    assert_eq!(fixture.admin().get(path).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_need_an_origin_of_the_key() {
    let fixture = Fixture::new().await;
    let request = proto::CreateApiKeyRequest {
        agent_id: fixture.agent_id.to_owned(),
        allowed_origins: vec!["https://shop.example".to_owned()],
        ..proto::CreateApiKeyRequest::default()
    };
    let made = fixture.operator.registry().create_api_key(request).await;
    let secret = made.unwrap().into_inner().secret;
    let client = fixture.stack.http_client().with("x-api-key", &secret).with("x-session-id", "s");
    let check = async |origin: Option<&str>, status: u16, allowed: Option<&str>| {
        let client = origin.map_or(client.clone(), |origin| client.with("origin", origin));
        let answer = client.post("/api/chats", &json!({})).await;
        assert_eq!(answer.status, status, "{origin:?}");
        let allowed_origin = answer.headers.get("access-control-allow-origin");
        assert_eq!(allowed_origin.map(String::as_str), allowed, "{origin:?}");
        let exposed = answer.headers.get("access-control-expose-headers");
        let is_exposed = |name| exposed.is_some_and(|exposed| exposed.contains(name));
        for name in ["x-run-id", "x-session-id", "retry-after"] {
            assert_eq!(is_exposed(name), allowed.is_some(), "{name} {origin:?}");
        }
    };
    check(None, 201, None).await;
    check(Some("https://shop.example"), 201, Some("https://shop.example")).await;
    check(Some("https://evil.example"), 403, None).await;
    check(Some("null"), 403, None).await;
}
