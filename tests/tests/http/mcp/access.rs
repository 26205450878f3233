//! Who may call: tokens of services, administrators and users, from which hosts and pages.

use serde_json::json;
use tests::events::{call, result, user};
use tests::http_client::HttpClient;
use tests::jwt;
use wire::proto::event::v1::Role;
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::{Scope, ToolCallDetail};

use super::{McpClient, REVISIONS};
use crate::fixture::{Fixture, bearer};
use tests::eventually::eventually;
use tests::operator::echo;

const METADATA: &str = "/.well-known/oauth-protected-resource/mcp";

/// The status and the error code of a listing of tools.
async fn status(http: &HttpClient) -> (u16, String, String) {
    let mcp = McpClient::new(http, REVISIONS[0]);
    let answer = mcp.request("tools/list", json!({})).await;
    let (status, code) = answer.status_and_code();
    let challenge = answer.headers.get("www-authenticate").cloned();
    (status, code, challenge.unwrap_or_default())
}

async fn tools_of(http: &HttpClient) -> Vec<String> {
    let mcp = McpClient::new(http, REVISIONS[1]);
    let listed = mcp.result("tools/list", json!({})).await;
    let tools = listed["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_valid_callers_reach_the_tools() {
    let url = "https://chat.example.org/mcp";
    let fixture = Fixture::with(|config| {
        config.http.mcp.url = Some(url.to_owned());
        config.http.mcp.hosts = vec!["gateway.internal".to_owned()];
        config.http.mcp.authorization_servers = vec!["https://login.example.org".to_owned()];
    })
    .await;
    let client = fixture.stack.http_client();
    let document = client.get(METADATA).await.ok(200);
    assert_eq!(document["resource"], url);
    assert_eq!(document["authorization_servers"], json!(["https://login.example.org"]));
    let token = fixture.operator.token(&[Scope::Read], fixture.tenant).await;
    let service = bearer(&fixture.stack, &token.secret);
    let metadata = format!("resource_metadata=\"https://chat.example.org{METADATA}\"");
    for nobody in [
        client.clone(),
        bearer(&fixture.stack, "hst_forged"),
        bearer(&fixture.stack, &fixture.key.secret),
        fixture.frontend(),
        fixture.session("s"),
    ] {
        let (status, _, challenge) = status(&nobody).await;
        assert_eq!(status, 401);
        assert!(challenge.starts_with("Bearer error=\"invalid_token\""), "{challenge}");
        assert!(challenge.ends_with(&metadata), "{challenge}");
    }
    let operator = fixture.operator.token(&[Scope::Operate], fixture.tenant).await;
    let (code, reason, challenge) = status(&bearer(&fixture.stack, &operator.secret)).await;
    assert_eq!((code, reason.as_str()), (403, "MISSING_SCOPE"));
    assert!(challenge.starts_with("Bearer error=\"insufficient_scope\", scope="), "{challenge}");
    let page = service.with("origin", "https://evil.example");
    assert_eq!(status(&page).await.1, "ORIGIN_NOT_ALLOWED");
    for (host, expected) in
        [("localhost", 200), ("gateway.internal:7303", 200), ("chat.example.org", 200), ("evil.example", 403)]
    {
        assert_eq!(status(&service.with("host", host)).await.0, expected, "{host}");
    }
    let plain = Fixture::new().await;
    let client = plain.stack.http_client();
    assert_eq!(client.get(METADATA).await.status, 404);
    let (_, _, challenge) = status(&client).await;
    assert!(!challenge.contains("resource_metadata"), "{challenge}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_conversation_looks_like_a_missing_one() {
    let fixture = Fixture::new().await;
    let revision = REVISIONS[1];
    let mcp = McpClient::of_service(&fixture, revision).await;
    let id = mcp.created("ada").await;
    let scopes = [Scope::Append, Scope::Read];
    let foreign = bearer(&fixture.stack, &fixture.operator.token(&scopes, fixture.foreign_tenant).await.secret);
    let own = bearer(&fixture.stack, &fixture.operator.token(&scopes, fixture.tenant).await.secret);
    for http in [
        foreign.clone(),
        foreign.with("x-agent-id", fixture.foreign_agent_id),
        foreign.with("x-agent-id", fixture.agent_id),
        own.with("x-agent-id", fixture.other_agent_id),
        fixture.foreign_admin(),
        fixture.user("bob"),
    ] {
        check_hidden(&McpClient::new(&http, revision), &id).await;
    }
    let host = McpClient::new(&foreign, revision);
    let listed = host.ok("list_conversations", json!({"user_id": "ada"}));
    assert_eq!(listed.await, json!([]));
}

/// A caller gets the same failure for the conversation as for one that does not exist.
async fn check_hidden(mcp: &McpClient, id: &str) {
    for tool in
        ["fetch_chat_history", "record_interaction", "get_conversation", "fork_conversation", "export_conversation"]
    {
        let arguments = |id: &str| {
            let mut arguments = json!({"conversation_id": id});
            if tool == "record_interaction" {
                arguments["user_message"] = json!("q");
                arguments["assistant_response"] = json!("a");
            }
            arguments
        };
        let (theirs, code) = mcp.failure(tool, arguments(id)).await;
        let (nobodys, _) = mcp.failure(tool, arguments("missing")).await;
        assert_eq!(theirs.replace(id, "missing"), nobodys, "{tool}");
        if code == "CONVERSATION_NOT_FOUND" {
            let beginning = format!("Error: Conversation {id} not found");
            assert!(theirs.starts_with(&beginning), "{theirs}");
        } else {
            assert!(["MISSING_SCOPE", "AGENT_NOT_FOUND"].contains(&code.as_str()), "{theirs}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_sees_the_tools_that_it_may_use() {
    let fixture = Fixture::new().await;
    let mcp = McpClient::of_service(&fixture, REVISIONS[1]).await;
    let id = mcp.created("ada").await;
    let token = async |scope| fixture.operator.token(&[scope], fixture.tenant).await.secret;
    let reader = bearer(&fixture.stack, &token(Scope::Read).await);
    let appender = bearer(&fixture.stack, &token(Scope::Append).await);
    let reads = [
        "fetch_chat_history",
        "get_conversation",
        "list_conversations",
        "search_conversations",
        "get_context",
        "export_conversation",
    ];
    assert_eq!(tools_of(&reader).await, reads);
    assert_eq!(tools_of(&fixture.admin()).await, reads);
    assert_eq!(tools_of(&appender).await, ["record_interaction", "create_conversation"]);
    let fetch = json!({"conversation_id": id});
    let record = json!({"conversation_id": id, "user_message": "q", "assistant_response": "a"});
    let admin = McpClient::new(&fixture.admin(), REVISIONS[0]);
    let reader = McpClient::new(&reader, REVISIONS[0]);
    let appender = McpClient::new(&appender, REVISIONS[0]);
    for (mcp, tool, arguments) in [
        (&reader, "record_interaction", &record),
        (&admin, "record_interaction", &record),
        (&appender, "fetch_chat_history", &fetch),
    ] {
        let (text, code) = mcp.failure(tool, arguments.clone()).await;
        assert_eq!(code, "MISSING_SCOPE", "{text}");
    }
    assert_eq!(admin.ok("get_conversation", fetch.clone()).await["user_id"], "ada");
    assert_eq!(reader.ok("fetch_chat_history", fetch).await["message_count"], 0);
    appender.ok("record_interaction", record).await;
    // The tenant has two agents.
    let (text, code) = admin.failure("list_conversations", json!({"user_id": "ada"})).await;
    assert_eq!(code, "FIELD_MISSING", "{text}");
    let named = json!({"user_id": "ada", "agent_id": fixture.agent_id});
    let listed = admin.ok("list_conversations", named).await;
    assert_eq!(listed[0]["id"], id.as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_their_own_conversations() {
    let fixture = Fixture::new().await;
    let service = McpClient::of_service(&fixture, REVISIONS[1]).await;
    let of_bob = service.created("bob").await;
    let token = jwt::user(&fixture.user_secret, "ada");
    let http = fixture.frontend().with("authorization", &format!("Bearer {token}"));
    let ada = McpClient::new(&http, REVISIONS[1]);
    assert!(!tools_of(&http).await.contains(&"get_context".to_owned()));
    let id = ada.created("ada").await;
    check_hidden(&ada, &of_bob).await;
    let (_, code) = ada.failure("create_conversation", json!({"user_id": "bob"})).await;
    assert_eq!(code, "USER_MISMATCH");
    let of_other = ada.ok("list_conversations", json!({"user_id": "bob"})).await;
    assert_eq!(of_other, json!([]));
    let listed = ada.ok("list_conversations", json!({"user_id": "ada"})).await;
    assert_eq!(listed[0]["id"], id.as_str());
    let resources = ada.result("resources/list", json!({})).await;
    assert_eq!(resources["resources"].as_array().unwrap().len(), 1);
    let context = json!({"conversation_id": id, "format": "anthropic"});
    let (_, code) = ada.failure("get_context", context).await;
    assert_eq!(code, "MISSING_SCOPE");
    let record = json!({"conversation_id": id, "user_message": "q", "assistant_response": "a"});
    let (_, code) = ada.failure("record_interaction", record.clone()).await;
    assert_eq!(code, "ROLE_NOT_ALLOWED");
    let settings = proto::AgentSettings { allowed_roles: vec![Role::Assistant.into()], ..echo() };
    fixture.operator.settings(fixture.agent_id, settings).await;
    eventually("the allowed role", || async {
        let recorded = ada.call("record_interaction", record.clone()).await;
        (recorded["isError"] != true).then_some(())
    })
    .await;
    let mut keyed = record.clone();
    keyed["idempotency_key"] = json!(uuid::Uuid::now_v7().to_string());
    let first = ada.ok("record_interaction", keyed.clone()).await;
    assert_eq!(ada.ok("record_interaction", keyed).await, first);
    let forged = jwt::user("another secret of thirty-two bytes", "ada");
    let forged = fixture.frontend().with("authorization", &format!("Bearer {forged}"));
    assert_eq!(status(&forged).await.0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn users_get_of_tool_calls_what_the_agent_discloses() {
    let fixture = Fixture::new().await;
    let service = McpClient::of_service(&fixture, REVISIONS[1]).await;
    let token = jwt::user(&fixture.user_secret, "ada");
    let http = fixture.frontend().with("authorization", &format!("Bearer {token}"));
    let ada = McpClient::new(&http, REVISIONS[1]);
    let id = ada.created("ada").await;
    let events = vec![user("q"), call("c1", r#"{"q": "secret-input"}"#), result("c1", r#"{"found": "secret-output"}"#)];
    fixture.agent.append(&id, events).await;
    let export = json!({ "conversation_id": id });
    let seen = async |client: &McpClient| {
        let page = client.ok("export_conversation", export.clone()).await;
        let text = page.to_string();
        ["search", "secret-input", "secret-output"].map(|part| text.contains(part))
    };
    assert_eq!(seen(&ada).await, [true; 3]);
    for (detail, expected) in [(ToolCallDetail::Names, [true, false, false]), (ToolCallDetail::Hidden, [false; 3])] {
        let settings = proto::AgentSettings {
            frontend: Some(proto::FrontendSettings { tool_calls: detail.into(), ..proto::FrontendSettings::default() }),
            ..echo()
        };
        fixture.operator.settings(fixture.agent_id, settings).await;
        eventually("the agent's detail", || async { (seen(&ada).await == expected).then_some(()) }).await;
        assert_eq!(seen(&service).await, [true; 3]);
    }
}
