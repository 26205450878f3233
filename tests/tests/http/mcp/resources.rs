//! Conversations as resources.

use serde_json::{Value, json};

use super::{McpClient, REVISIONS};
use crate::fixture::{Fixture, text};

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_listed_in_pages_and_read() {
    let fixture = Fixture::new().await;
    let legacy = McpClient::of_service(&fixture, REVISIONS[0]).await;
    let id = legacy.created("ada").await;
    legacy.record(&id, "one", "two").await;
    for number in 0..50 {
        legacy.created(&format!("user-{number}")).await;
    }
    for revision in REVISIONS {
        let mcp = McpClient { revision, http: legacy.http.with("mcp-protocol-version", revision) };
        let first = mcp.result("resources/list", json!({})).await;
        assert_eq!(first["resources"].as_array().unwrap().len(), 50);
        let cursor = text(&first, "nextCursor");
        let second = mcp.result("resources/list", json!({"cursor": cursor})).await;
        assert_eq!(second.get("nextCursor"), None);
        let uri = format!("hansard://conversations/{id}");
        let last = second["resources"].as_array().unwrap().last().unwrap();
        assert_eq!(last["uri"], uri);
        let read = mcp.result("resources/read", json!({"uri": uri})).await;
        let contents = &read["contents"][0];
        assert_eq!((&contents["uri"], &contents["mimeType"]), (&json!(uri), &json!("application/json")));
        let history: Value = serde_json::from_str(text(contents, "text")).unwrap();
        assert_eq!(history["messages"][1]["content"], "two");
        let templates = mcp.result("resources/templates/list", json!({})).await;
        let template = &templates["resourceTemplates"][0]["uriTemplate"];
        assert_eq!(template, "hansard://conversations/{id}");
        if revision == REVISIONS[1] {
            for result in [&first, &read, &templates] {
                let hints = (&result["cacheScope"], &result["ttlMs"]);
                assert_eq!(hints, (&json!("private"), &json!(0)));
            }
        }
        check_errors(&mcp).await;
    }
}

async fn check_errors(mcp: &McpClient) {
    for method in ["resources/list", "resources/templates/list", "tools/list"] {
        let code = mcp.error_code(method, json!({"cursor": "forged"})).await;
        assert_eq!(code, -32602, "{method}");
    }
    let missing = if mcp.revision == REVISIONS[0] { -32002 } else { -32602 };
    for uri in ["hansard://conversations/none", "hansard://conversations/", "hansard://users/ada", "file:///etc/passwd"]
    {
        let code = mcp.error_code("resources/read", json!({"uri": uri})).await;
        assert_eq!(code, missing, "{uri}");
    }
}
