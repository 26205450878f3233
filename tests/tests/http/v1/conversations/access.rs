//! Who may record and read: a token with the scope, for its tenant.

use serde_json::json;
use wire::proto::operate::v1::Scope;

use super::{created, messages, service};
use crate::fixture::{Fixture, bearer, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_token_acts_within_its_scopes() {
    let fixture = Fixture::new().await;
    let both = service(&fixture, &[Scope::Append, Scope::Read]).await;
    let path = created(&fixture, &both).await;
    let events = format!("{path}/events");
    let reader = service(&fixture, &[Scope::Read]).await;
    let appender = service(&fixture, &[Scope::Append]).await;
    let lacks = (403, "MISSING_SCOPE".to_owned());
    assert_eq!(reader.post(&events, &messages(1)).await.status_and_code(), lacks);
    assert_eq!(reader.patch(&path, &json!({"title": "t"})).await.status_and_code(), lacks);
    let body = json!({"agentId": fixture.agent_id, "userId": "ada"});
    assert_eq!(reader.post("/v1/conversations", &body).await.status_and_code(), lacks);
    assert_eq!(appender.get(&path).await.status_and_code(), lacks);
    assert_eq!(appender.get(&events).await.status_and_code(), lacks);
    assert_eq!(appender.get("/v1/conversations/none").await.status_and_code(), lacks);
    assert_eq!(appender.post(&events, &messages(1)).await.status, 200);
    assert_eq!(reader.get(&events).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_conversation_looks_like_a_missing_one() {
    let fixture = Fixture::new().await;
    let scopes = [Scope::Append, Scope::Read];
    let path = created(&fixture, &service(&fixture, &scopes).await).await;
    let token = fixture.operator.token(&scopes, fixture.foreign_tenant).await;
    let foreign = bearer(&fixture.stack, &token.secret);
    let missing = "/v1/conversations/missing";
    for caller in [
        foreign.clone(),
        foreign.with("x-agent-id", fixture.foreign_agent_id),
        foreign.with("x-agent-id", fixture.agent_id),
        service(&fixture, &scopes).await.with("x-agent-id", fixture.other_agent_id),
    ] {
        for (suffix, method, body) in [
            ("", "GET", None),
            ("", "PATCH", Some(json!({"title": "t"}))),
            ("/events", "GET", None),
            ("/events/stream", "GET", None),
            ("/events", "POST", Some(messages(1))),
        ] {
            let theirs = caller.send(method, &format!("{path}{suffix}"), body.as_ref()).await;
            let nobodys = caller.send(method, &format!("{missing}{suffix}"), body.as_ref()).await;
            assert_eq!(theirs.status_and_code(), nobodys.status_and_code(), "{method} {suffix}");
            assert_eq!(theirs.status, 404, "{method} {suffix}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_all_tenants_names_the_agent() {
    let fixture = Fixture::new().await;
    let token = fixture.operator.token(&[Scope::Append, Scope::Read], "").await;
    let all = bearer(&fixture.stack, &token.secret);
    let path = created(&fixture, &all).await;
    let refused = all.get(&path).await;
    assert_eq!(refused.status_and_code(), (400, "FIELD_MISSING".to_owned()));
    assert_eq!(refused.json()["field"], "x-agent-id");
    let named = all.with("x-agent-id", fixture.agent_id);
    assert_eq!(named.post(&format!("{path}/events"), &messages(1)).await.status, 200);
    assert_eq!(named.get(&path).await.ok(200)["version"], 2);
    let body = json!({"agentId": fixture.other_agent_id, "userId": "ada"});
    let two = named.post("/v1/conversations", &body);
    assert_eq!(two.await.status_and_code(), (400, "CALLER_AMBIGUOUS".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_agents_sees_their_conversations_only() {
    let fixture = Fixture::new().await;
    let scopes = [Scope::Append, Scope::Read];
    let one = bearer(&fixture.stack, &fixture.operator.secret_key(&scopes, &[fixture.agent_id]).await.secret);
    // The agent need not be named.
    let body = json!({"userId": "ada"});
    let made = one.post("/v1/conversations", &body).await.ok(201);
    let ours = format!("/v1/conversations/{}", text(&made, "conversationId"));
    let body = json!({"agentId": fixture.other_agent_id, "userId": "ada"});
    let refused = one.post("/v1/conversations", &body).await;
    let unknown = (404, "AGENT_NOT_FOUND".to_owned());
    assert_eq!(refused.status_and_code(), unknown);
    let tenant = service(&fixture, &scopes).await;
    let made = tenant.post("/v1/conversations", &body).await.ok(201);
    let theirs = format!("/v1/conversations/{}", text(&made, "conversationId"));
    let both = fixture.operator.secret_key(&scopes, &[fixture.agent_id, fixture.other_agent_id]).await;
    let both = bearer(&fixture.stack, &both.secret);
    let third = bearer(&fixture.stack, &fixture.operator.secret_key(&scopes, &[fixture.other_agent_id]).await.secret);
    let missing = (404, "CONVERSATION_NOT_FOUND".to_owned());
    for (caller, path, is_visible) in [
        (&one, &ours, true),
        (&one, &theirs, false),
        (&both, &ours, true),
        (&both, &theirs, true),
        (&third, &ours, false),
        (&third, &theirs, true),
    ] {
        let events = format!("{path}/events");
        for (method, path, body) in [
            ("GET", path, None),
            ("GET", &events, None),
            ("POST", &events, Some(messages(1))),
            ("PATCH", path, Some(json!({"title": "t"}))),
        ] {
            let answer = caller.send(method, path, body.as_ref()).await;
            if is_visible {
                assert_eq!(answer.status, 200, "{method} {path}");
            } else {
                assert_eq!(answer.status_and_code(), missing, "{method} {path}");
            }
        }
    }
    let unnamed = both.post("/v1/conversations", &json!({"userId": "ada"})).await;
    assert_eq!(unnamed.status_and_code(), (400, "FIELD_MISSING".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn others_have_no_access() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &[Scope::Append, Scope::Read]).await;
    let path = created(&fixture, &service).await;
    let api_key = bearer(&fixture.stack, &fixture.key.secret);
    for caller in [fixture.stack.http_client(), fixture.frontend(), api_key, fixture.admin()] {
        assert_eq!(caller.get(&path).await.status_and_code(), (401, "UNAUTHENTICATED".to_owned()));
    }
    let page = service.with("origin", "https://shop.example");
    assert_eq!(page.get(&path).await.status_and_code(), (403, "ORIGIN_NOT_ALLOWED".to_owned()));
    assert_eq!(service.get(&path).await.status, 200);
}
