//! What administrators read with their tokens is recorded before it is answered.

use serde_json::{Value, json};
use tests::events::user;
use tests::http_client::HttpClient;
use wire::proto::operate::v1::{AuditActorKind, AuditEntry};

use super::entries_of;
use crate::fixture::Fixture;

const KIND: AuditActorKind = AuditActorKind::Administrator;

/// A request of MCP, in the revision with a handshake.
pub(super) async fn mcp(http: &HttpClient, method: &str, params: Value) -> Value {
    let http = http.with("accept", "application/json, text/event-stream").with("mcp-protocol-version", "2025-11-25");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    http.post("/mcp", &body).await.ok(200)
}

/// A conversation of a session, whose rows exist.
async fn conversation(fixture: &Fixture) -> &'static str {
    fixture.agent.create("c").await;
    let appended = fixture.agent.append("c", vec![user("a sesame parcel")]).await;
    fixture.agent.wait_for_rows("c", appended.version).await;
    "c"
}

fn facts(entry: &AuditEntry) -> (&str, &str, &str, &str) {
    (&entry.name, &entry.action, &entry.conversation_id, &entry.detail)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_leaves_an_entry() {
    let fixture = Fixture::new().await;
    conversation(&fixture).await;
    let admin = fixture.admin();
    let list = "GET /v1/admin/conversations";
    let one = "GET /v1/admin/conversations/{id}";
    let cases = [
        ("/v1/admin/conversations?limit=1", 200, ("viewed", "", list.to_owned())),
        ("/v1/admin/conversations/c", 200, ("viewed", "c", one.to_owned())),
        ("/v1/admin/conversations/c/events", 200, ("viewed", "c", format!("{one}/events"))),
        ("/v1/admin/conversations/c/export?format=csv", 200, ("exported", "c", format!("{one}/export"))),
        ("/v1/admin/search?q=sesame", 200, ("viewed", "", "GET /v1/admin/search".to_owned())),
        ("/v1/admin/provider-logs", 200, ("viewed", "", "GET /v1/admin/provider-logs".to_owned())),
        // An attempt is an entry too, with an id that a conversation can have.
        ("/v1/admin/conversations/none", 404, ("viewed", "none", one.to_owned())),
        ("/v1/admin/conversations/a%20b", 404, ("viewed", "", one.to_owned())),
    ];
    for (index, (path, status, (action, conversation, detail))) in cases.into_iter().enumerate() {
        let answer = admin.get(path).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        let entries = entries_of(&fixture, KIND).await;
        assert_eq!(entries.len(), index + 1, "{path}: {entries:?}");
        let expected = ("root", action, conversation, detail.as_str());
        assert_eq!(facts(&entries[index]), expected, "{path}");
    }
    // Counts are no conversations, and nobody without a token is an administrator.
    let before = entries_of(&fixture, KIND).await;
    admin.get("/v1/admin/usage?from=2026-01-01&to=2026-01-02").await;
    assert_eq!(fixture.stack.http_client().get("/v1/admin/conversations/c").await.status, 401);
    assert_eq!(fixture.foreign_admin().get("/v1/admin/conversations/c").await.status, 404);
    assert_eq!(entries_of(&fixture, KIND).await, before);
    assert!(!format!("{before:?}").contains("sesame"));
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_and_resources_leave_entries() {
    let fixture = Fixture::new().await;
    conversation(&fixture).await;
    let admin = fixture.admin().with("x-agent-id", fixture.agent_id);
    let agent = fixture.agent_id;
    let tool = |name: &str, arguments: Value| ("tools/call".to_owned(), json!({"name": name, "arguments": arguments}));
    let resource = json!({"uri": "hansard://conversations/c"});
    let cases = [
        (tool("fetch_chat_history", json!({"conversation_id": "c"})), ("c", "MCP fetch_chat_history")),
        (tool("get_conversation", json!({"conversation_id": "c"})), ("c", "MCP get_conversation")),
        (tool("export_conversation", json!({"conversation_id": "c"})), ("c", "MCP export_conversation")),
        (tool("search_conversations", json!({"query": "sesame", "agent_id": agent})), ("", "MCP search_conversations")),
        (tool("list_conversations", json!({"user_id": "u", "agent_id": agent})), ("", "MCP list_conversations")),
        (("resources/read".to_owned(), resource), ("c", "MCP resources/read")),
    ];
    // A listing of tools reads nothing.
    mcp(&admin, "tools/list", json!({})).await;
    for (index, ((method, params), (conversation, detail))) in cases.into_iter().enumerate() {
        mcp(&admin, &method, params).await;
        let entries = entries_of(&fixture, KIND).await;
        assert_eq!(entries.len(), index + 1, "{detail}: {entries:?}");
        assert_eq!(facts(&entries[index]), ("root", "viewed", conversation, detail));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_recorded_is_refused() {
    let mut fixture = Fixture::own().await;
    conversation(&fixture).await;
    let admin = fixture.admin().with("x-agent-id", fixture.agent_id);
    assert_eq!(admin.get("/v1/admin/conversations/c").await.status, 200);
    fixture.stack.writer.stop().await;
    for path in ["/v1/admin/conversations/c", "/v1/admin/conversations/c/events", "/v1/admin/conversations"] {
        let answer = admin.get(path).await;
        assert_eq!(answer.status_and_code(), (503, "RECORD_UNAVAILABLE".to_owned()), "{path}");
        assert!(answer.headers.contains_key("retry-after"), "{path}");
        assert!(!answer.text().contains("sesame"), "{path}");
    }
    let history = json!({"name": "fetch_chat_history", "arguments": {"conversation_id": "c"}});
    let answer = mcp(&admin, "tools/call", history).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(!answer.to_string().contains("sesame"), "{answer}");
}
