//! The agents of a key, as models.

use serde_json::Value;
use tests::http_client::HttpClient;
use wire::proto::operate::v1::Scope;

use super::back_end;
use crate::fixture::{Fixture, bearer, list, text};

async fn models(client: &HttpClient) -> Vec<String> {
    let page = client.get("/openai/v1/models").await.ok(200);
    assert_eq!(page["object"], "list");
    let models = list(&page, "data").iter();
    models.map(|model| text(model, "id").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_lists_its_agents() {
    let fixture = Fixture::new().await;
    let one = back_end(&fixture).await;
    let tenant = bearer(&fixture.stack, &fixture.operator.token(&[Scope::Read], fixture.tenant).await.secret);
    let all = bearer(&fixture.stack, &fixture.operator.token(&[Scope::Read], "").await.secret);
    assert_eq!(models(&one).await, [fixture.agent_id]);
    assert_eq!(models(&tenant).await, [fixture.other_agent_id, fixture.agent_id]);
    assert_eq!(models(&tenant.with("x-agent-id", fixture.foreign_agent_id)).await, Vec::<String>::new());
    let named = all.with("x-agent-id", fixture.foreign_agent_id);
    assert_eq!(models(&named).await, [fixture.foreign_agent_id]);
    let refused = all.get("/openai/v1/models").await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"]["param"], "x-agent-id");

    let model = one.get(&format!("/openai/v1/models/{}", fixture.agent_id)).await.ok(200);
    let expected = [("id", fixture.agent_id), ("object", "model"), ("owned_by", fixture.tenant)];
    for (member, value) in expected {
        assert_eq!(text(&model, member), value);
    }
    assert!(model["created"].as_i64().is_some_and(|created| created > 0));
    let path = |agent: &str| format!("/openai/v1/models/{agent}");
    for agent in [fixture.other_agent_id, fixture.foreign_agent_id, "missing", "not%20an%20id"] {
        let refused = one.get(&path(agent)).await;
        assert_eq!(refused.status, 404, "{agent}");
        let error: &Value = &refused.json()["error"];
        assert_eq!((&error["code"], &error["param"]), (&"AGENT_NOT_FOUND".into(), &"model".into()));
    }
    let foreign = bearer(&fixture.stack, &fixture.operator.token(&[Scope::Read], fixture.foreign_tenant).await.secret);
    assert_eq!(foreign.get(&path(fixture.agent_id)).await.status, 404);
}
