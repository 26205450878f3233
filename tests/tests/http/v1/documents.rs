//! `/v1/documents`: a back end stores documents of its agent, of owners, and reads those of conversations.

use reqwest::Method;
use serde_json::{Value, json};
use tests::events::{document_put, user};
use tests::http_client::HttpClient;
use uuid::Uuid;
use wire::proto::operate::v1::Scope;

use super::service;
use crate::fixture::{Fixture, bearer, begin};
use crate::turns::sse::EventStream;

const BOTH: [Scope; 2] = [Scope::Append, Scope::Read];

/// A back end of one agent.
async fn back_end(fixture: &Fixture, agent: &str) -> HttpClient {
    let key = fixture.operator.secret_key(&BOTH, &[agent]).await;
    bearer(&fixture.stack, &key.secret)
}

/// Adds a name to a body.
fn named(mut body: Value) -> Value {
    for (member, value) in [("namespace", json!(["memories", "a.b"])), ("key", json!("k/1"))] {
        if body.get(member).is_none() {
            body[member] = value;
        }
    }
    body
}

async fn put(client: &HttpClient, body: Value) -> tests::http_client::Answer {
    client.send("PUT", "/v1/documents", Some(&named(body))).await
}

async fn get(client: &HttpClient, body: Value) -> Value {
    let found = client.post("/v1/documents/get", &named(body)).await.ok(200);
    found["document"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_put_read_and_deleted() {
    let fixture = Fixture::new().await;
    let client = back_end(&fixture, fixture.agent_id).await;
    assert_eq!(get(&client, json!({})).await, Value::Null);
    let value = json!({"n": 1.5, "s": "é"});
    let answer = put(&client, json!({"value": value, "ttlSeconds": 60, "expectedVersion": 0})).await;
    let token = answer.headers["x-position-token"].clone();
    let first = answer.ok(200);
    let found = get(&client, json!({})).await;
    assert_eq!(found["value"], value);
    assert_eq!(found["version"], first["version"]);
    assert_eq!(found["conversationId"], first["conversationId"]);
    assert!(found["expiresAt"].is_string(), "{found}");
    let conflict = put(&client, json!({"value": 1, "expectedVersion": 0})).await;
    assert_eq!(conflict.status_and_code(), (409, "VERSION_CONFLICT".to_owned()));
    let after = client.with("x-position-token", &token);
    let search = json!({"namespacePrefix": ["memories"], "filter": {"n": {"$gte": 1}}});
    let searched = after.post("/v1/documents/search", &search).await.ok(200);
    assert_eq!(searched, json!({"documents": [found], "hasMore": false}));
    let listed = after.post("/v1/documents/namespaces", &json!({"maxDepth": 1})).await;
    assert_eq!(listed.ok(200), json!({"namespaces": [["memories"]], "hasMore": false}));
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_documents_keep_their_versions() {
    let fixture = Fixture::new().await;
    let client = back_end(&fixture, fixture.agent_id).await;
    let value = json!({"n": 1.5});
    put(&client, json!({"value": value, "ttlSeconds": 60})).await.ok(200);
    let deleted = client.post("/v1/documents/delete", &named(json!({}))).await.ok(200);
    assert_eq!(deleted["deleted"], true);
    let again = client.post("/v1/documents/delete", &named(json!({}))).await.ok(200);
    assert_eq!(again, json!({"deleted": false}));
    assert_eq!(get(&client, json!({})).await, Value::Null);
    let versions = client.post("/v1/documents/versions", &named(json!({}))).await.ok(200);
    let seen: Vec<_> = versions["versions"]
        .as_array()
        .expect("versions")
        .iter()
        .map(|one| (one["isDeleted"].clone(), one["value"].clone(), one["ttlSeconds"].clone()))
        .collect();
    assert_eq!(seen, [(json!(true), Value::Null, Value::Null), (json!(false), value, json!(60)),]);
}

#[tokio::test(flavor = "multi_thread")]
async fn owners_and_conversations_have_documents_of_their_own() {
    let fixture = Fixture::new().await;
    let client = back_end(&fixture, fixture.agent_id).await;
    for (scope, value) in [
        (json!({}), 0),
        (json!({"userId": "ann"}), 1),
        (json!({"sessionId": "ann"}), 2),
        (json!({"channelId": "0".repeat(64)}), 3),
    ] {
        put(&client, json!({"scope": scope, "value": value})).await.ok(200);
        assert_eq!(get(&client, json!({"scope": scope})).await["value"], value);
    }
    let owner = json!({"agentId": fixture.agent_id, "userId": "ann"});
    let created = client.post("/v1/conversations", &owner).await.ok(201);
    let id = created["conversationId"].as_str().expect("an id");
    let events = json!({"events": [
        {"type": "MessageAppended", "role": "user", "parts": [{"type": "text", "text": "hi"}]},
        {"type": "DocumentPut", "namespace": ["memories", "a.b"], "key": "k/1", "value": {"n": 4}, "ttlSeconds": 60},
        {"type": "DocumentPut", "namespace": ["n"], "key": "gone", "value": 1},
        {"type": "DocumentDeleted", "namespace": ["n"], "key": "gone"},
    ]});
    let path = format!("/v1/conversations/{id}/events");
    client.post(&path, &events).await.ok(200);
    let scope = json!({"conversationId": id});
    assert_eq!(get(&client, json!({"scope": scope})).await["value"], json!({"n": 4}));
    let listed = client.get(&path).await.ok(200);
    let kinds: Vec<&str> = listed["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|event| event["type"].as_str().expect("a type"))
        .collect();
    let expected = ["ConversationCreated", "MessageAppended", "DocumentPut", "DocumentPut", "DocumentDeleted"];
    assert_eq!(kinds, expected);
    let refused = put(&client, json!({"scope": scope, "value": 1})).await;
    assert_eq!(refused.status_and_code(), (400, "FIELD_MALFORMED".to_owned()));
    let several = put(&client, json!({"scope": {"userId": "a", "sessionId": "b"}, "value": 1})).await;
    assert_eq!(several.status_and_code(), (400, "FIELD_CONFLICT".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_name_the_members_of_the_body() {
    let fixture = Fixture::new().await;
    let client = back_end(&fixture, fixture.agent_id).await;
    for (body, code, field) in [
        (json!({"value": "x".repeat(64 * 1024)}), "FIELD_TOO_LONG", "value"),
        (json!({"value": "\u{0}"}), "NUL_CHARACTER", "value"),
        (json!({"value": 1, "ttlSeconds": 316_224_001}), "FIELD_OUT_OF_RANGE", "ttlSeconds"),
        (json!({"value": 1, "key": ""}), "FIELD_MISSING", "key"),
        (json!({"value": 1, "namespace": ["n", ""]}), "FIELD_MISSING", "namespace[1]"),
        (json!({"value": 1, "scope": {"userId": ""}}), "FIELD_MISSING", "scope.userId"),
    ] {
        let answer = put(&client, body).await;
        assert_eq!(answer.status_and_code(), (400, code.to_owned()), "{field}");
        assert_eq!(answer.json()["field"], field);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_searches_name_the_members_of_the_body() {
    let fixture = Fixture::new().await;
    let client = back_end(&fixture, fixture.agent_id).await;
    for (path, body, code, field) in [
        ("search", json!({"limit": 101}), "FIELD_OUT_OF_RANGE", "limit"),
        ("search", json!({"offset": 10_001}), "FIELD_OUT_OF_RANGE", "offset"),
        ("search", json!({"filter": []}), "INVALID_JSON", "filter"),
        ("search", json!({"namespacePrefix": [""]}), "FIELD_MISSING", "namespacePrefix[0]"),
        ("namespaces", json!({"maxDepth": 17}), "FIELD_OUT_OF_RANGE", "maxDepth"),
        ("namespaces", json!({"limit": 1_001}), "FIELD_OUT_OF_RANGE", "limit"),
    ] {
        let answer = client.post(&format!("/v1/documents/{path}"), &body).await;
        assert_eq!(answer.status_and_code(), (400, code.to_owned()), "{field}");
        assert_eq!(answer.json()["field"], field);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_records_once() {
    let fixture = Fixture::new().await;
    let client = back_end(&fixture, fixture.agent_id).await;
    let retried = client.with("idempotency-key", &Uuid::now_v7().to_string());
    let first = put(&retried, json!({"value": 1})).await.ok(200);
    put(&client, json!({"value": 2})).await.ok(200);
    assert_eq!(put(&retried, json!({"value": 1})).await.ok(200), first);
    assert_eq!(get(&client, json!({})).await["value"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn others_neither_read_nor_write() {
    let fixture = Fixture::new().await;
    let owner = back_end(&fixture, fixture.agent_id).await;
    put(&owner, json!({"value": "secret"})).await.ok(200);
    let foreign = bearer(&fixture.stack, &fixture.operator.token(&BOTH, fixture.foreign_tenant).await.secret);
    let other = back_end(&fixture, fixture.other_agent_id).await;
    let (unknown, unauthenticated) = ((404, "AGENT_NOT_FOUND"), (401, "UNAUTHENTICATED"));
    for (case, caller, (status, code)) in [
        ("another tenant", foreign.with("x-agent-id", fixture.agent_id), unknown),
        ("no such agent", foreign.with("x-agent-id", "nobody"), unknown),
        ("a key of another agent", other.with("x-agent-id", fixture.agent_id), unknown),
        ("no agent", service(&fixture, &BOTH).await, (400, "FIELD_MISSING")),
        ("a page", owner.with("origin", "https://shop.example"), (403, "ORIGIN_NOT_ALLOWED")),
        ("no token", fixture.stack.http_client(), unauthenticated),
        ("a public key", fixture.frontend(), unauthenticated),
        ("an administrator", fixture.admin(), unauthenticated),
    ] {
        let expected = (status, code.to_owned());
        let outcome = put(&caller, json!({"value": "planted"})).await;
        assert_eq!(outcome.status_and_code(), expected, "{case}");
        for path in ["get", "delete", "versions"] {
            let path = format!("/v1/documents/{path}");
            let outcome = caller.post(&path, &named(json!({}))).await;
            assert_eq!(outcome.status_and_code(), expected, "{case} {path}");
        }
        for path in ["search", "namespaces"] {
            let path = format!("/v1/documents/{path}");
            let outcome = caller.post(&path, &json!({})).await;
            assert_eq!(outcome.status_and_code(), expected, "{case} {path}");
        }
    }
    for other in [other, foreign.with("x-agent-id", fixture.foreign_agent_id)] {
        assert_eq!(get(&other, json!({})).await, Value::Null);
    }
    assert_eq!(get(&owner, json!({})).await["value"], "secret");
}

/// The conversation of a document is no chat, also for its own user.
#[tokio::test(flavor = "multi_thread")]
async fn frontends_neither_read_nor_plant_documents() {
    let fixture = Fixture::new().await;
    let client = back_end(&fixture, fixture.agent_id).await;
    let session = fixture.frontend().with("x-session-id", "s-1");
    let scope = json!({"sessionId": "s-1"});
    let stored = put(&client, json!({"scope": scope, "value": "secret"})).await.ok(200);
    let id = stored["conversationId"].as_str().expect("an id");
    for path in [format!("/api/chats/{id}"), format!("/api/chats/{id}/export")] {
        let answer = session.get(&path).await;
        assert_eq!(answer.status_and_code().0, 404, "{path}");
    }
    let message = json!({"content": "planted"});
    let answer = session.post(&format!("/api/chats/{id}/messages"), &message).await;
    assert_eq!(answer.status_and_code().0, 404);
    let chats = session.get("/api/chats").await.ok(200);
    assert!(!chats.to_string().contains(id), "{chats}");
    let planted = json!({
        "id": "document:planted",
        "messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}],
    });
    let answer = session.post("/api/chat", &planted).await;
    assert!([400, 404].contains(&answer.status_and_code().0), "{}", answer.text());
    let found = get(&client, json!({"scope": scope})).await;
    assert_eq!(found["value"], "secret");
}

/// A back end keeps its state in documents of a chat: the owner of the chat must not read it.
#[tokio::test(flavor = "multi_thread")]
async fn owners_of_a_chat_do_not_see_its_documents() {
    let fixture = Fixture::new().await;
    let ada = fixture.user("ada");
    let chat = begin(&ada, &json!({})).await;
    let events = vec![document_put("state", "\"secret\""), user("visible")];
    fixture.agent.append(&chat, events).await;
    let exported = |format: &str| format!("/api/chats/{chat}/export?format={format}");
    for path in [exported("json"), exported("ndjson"), exported("csv")] {
        let text = ada.get(&path).await.text();
        assert!(text.contains("visible") && !text.contains("secret"), "{path}: {text}");
    }
    let path = format!("/api/chats/{chat}/events");
    let mut stream = EventStream::open(ada.request(Method::GET, &path)).await;
    loop {
        let event = stream.next().await.expect("an event");
        assert!(!event.data.contains("secret"), "{}", event.data);
        if event.data.contains("visible") {
            break;
        }
    }
    let path = format!("/v1/admin/conversations/{chat}/export");
    let text = fixture.admin().get(&path).await.text();
    assert!(text.contains("secret"), "{text}");
}
