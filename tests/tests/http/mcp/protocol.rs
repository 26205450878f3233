//! Both revisions: handshake, discovery, definitions of tools, and errors of the protocol.

use serde_json::{Value, json};

use super::{McpClient, REVISIONS};
use crate::fixture::{Fixture, text};

const TOOLS: [&str; 9] = [
    "fetch_chat_history",
    "record_interaction",
    "create_conversation",
    "get_conversation",
    "list_conversations",
    "search_conversations",
    "get_context",
    "fork_conversation",
    "export_conversation",
];

#[tokio::test(flavor = "multi_thread")]
async fn both_revisions_are_served() {
    let fixture = Fixture::new().await;
    let [legacy, modern] = REVISIONS;
    let mcp = McpClient::of_service(&fixture, legacy).await;
    let unversioned = McpClient { http: mcp.http.without("mcp-protocol-version"), ..mcp.clone() };
    for (asked, agreed) in [(legacy, legacy), ("2024-11-05", legacy), (modern, legacy)] {
        let asked = json!({
            "protocolVersion": asked, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = unversioned.request("initialize", asked).await;
        let result = answer.ok(200)["result"].clone();
        assert_eq!(result["protocolVersion"], agreed, "{result}");
        assert_eq!(result["serverInfo"]["name"], "hansard");
        assert_eq!(answer.headers.get("mcp-session-id"), None);
    }
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(mcp.http.post("/mcp", &initialized).await.status, 202);
    mcp.result("ping", json!({})).await;
    let mcp = McpClient::of_service(&fixture, modern).await;
    let found = mcp.result("server/discover", json!({})).await;
    assert_eq!(found["supportedVersions"], json!(REVISIONS));
    assert_eq!(found["resultType"], "complete");
    check_tools(&fixture).await;
    check_errors(&fixture).await;
}

async fn check_tools(fixture: &Fixture) {
    for revision in REVISIONS {
        let mcp = McpClient::of_service(fixture, revision).await;
        let listed = mcp.result("tools/list", json!({})).await;
        let tools = listed["tools"].as_array().unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| text(tool, "name")).collect();
        assert_eq!(names, TOOLS);
        for tool in tools {
            let annotations = &tool["annotations"];
            let reads =
                !["record_interaction", "create_conversation", "fork_conversation"].contains(&text(tool, "name"));
            assert_eq!(annotations["readOnlyHint"], reads, "{tool}");
            assert_eq!(annotations["destructiveHint"], false, "{tool}");
            assert_eq!(annotations["openWorldHint"], false, "{tool}");
            assert!(text(tool, "description").len() > 60, "{tool}");
            let arguments = tool["inputSchema"]["properties"].as_object().unwrap();
            assert!(arguments.values().all(|schema| schema["description"].is_string()), "{tool}");
        }
        let limit = &tools[0]["inputSchema"]["properties"]["limit"];
        let bounds = [&limit["default"], &limit["minimum"], &limit["maximum"]];
        assert_eq!(bounds, [&json!(10), &json!(1), &json!(100)]);
        if revision == REVISIONS[1] {
            assert_eq!(listed["cacheScope"], "private");
        }
    }
}

async fn check_errors(fixture: &Fixture) {
    let [legacy, modern] = REVISIONS;
    for (revision, status) in [(legacy, 200), (modern, 404)] {
        let mcp = McpClient::of_service(fixture, revision).await;
        let unknown = json!({"name": "erase_everything", "arguments": {}});
        assert_eq!(mcp.error_code("tools/call", unknown).await, -32602);
        let answer = mcp.request("conversations/erase", json!({})).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.json()["error"]["code"], -32601);
        for method in ["GET", "DELETE"] {
            assert_eq!(mcp.http.send(method, "/mcp", None).await.status, 405);
        }
        let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]);
        let refused = mcp.http.post("/mcp", &batch).await;
        assert_eq!(refused.ok(400)["error"]["code"], -32600);
        let broken = mcp
            .http
            .request(reqwest::Method::POST, "/mcp")
            .header("content-type", "application/json")
            .body("{")
            .send()
            .await
            .unwrap();
        assert_eq!(broken.status(), 400);
        let broken: Value = broken.json().await.unwrap();
        assert_eq!(broken["error"]["code"], -32700);
    }
    let mcp = McpClient::of_service(fixture, modern).await;
    let other = McpClient { http: mcp.http.with("mcp-protocol-version", legacy), ..mcp.clone() };
    let mismatch = other.request("tools/list", json!({})).await;
    assert_eq!(mismatch.ok(400)["error"]["code"], -32020);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_has_at_most_four_mebibytes() {
    let fixture = Fixture::new().await;
    let mcp = McpClient::of_service(&fixture, REVISIONS[0]).await;
    let body = |bytes: usize| {
        let empty = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"p": ""}});
        let padding = bytes - empty.to_string().len();
        let mut body = empty;
        body["params"]["p"] = json!("x".repeat(padding));
        body
    };
    let bound = 4 * 1024 * 1024;
    assert_eq!(mcp.http.post("/mcp", &body(bound)).await.status, 200);
    let over = mcp.http.post("/mcp", &body(bound + 1)).await;
    assert_eq!(over.status_and_code(), (413, "BODY_TOO_LARGE".to_owned()));
}
