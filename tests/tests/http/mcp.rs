//! `/mcp`: the tools and resources of the Model Context Protocol, as JSON over HTTP. `tests/clients/mcp` checks the same endpoint
//! with the protocol's own clients.

mod access;
mod more_tools;
mod protocol;
mod resources;
mod stdio;
mod subscriptions;
mod tools;

use serde_json::{Value, json};
use tests::http_client::{Answer, HttpClient};
use wire::proto::operate::v1::Scope;

use crate::fixture::{Fixture, bearer, text};

/// The revision with a handshake, and the stateless one.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// A client of the protocol.
#[derive(Clone)]
struct McpClient {
    http: HttpClient,
    revision: &'static str,
}

impl McpClient {
    fn new(http: &HttpClient, revision: &'static str) -> Self {
        let http = http.with("accept", "application/json, text/event-stream");
        Self { http: http.with("mcp-protocol-version", revision), revision }
    }

    /// A back end of [`Fixture::tenant`] that names [`Fixture::agent_id`].
    async fn of_service(fixture: &Fixture, revision: &'static str) -> Self {
        let scopes = [Scope::Append, Scope::Read];
        let token = fixture.operator.token(&scopes, fixture.tenant).await;
        let http = bearer(&fixture.stack, &token.secret).with("x-agent-id", fixture.agent_id);
        Self::new(&http, revision)
    }

    /// Sends a request; the answer is JSON.
    async fn request(&self, method: &str, params: Value) -> Answer {
        let (http, body) = self.message(method, params);
        http.post("/mcp", &body).await
    }

    /// A request, with the headers of the revision.
    fn message(&self, method: &str, mut params: Value) -> (HttpClient, Value) {
        let mut http = self.http.clone();
        if self.revision == "2026-07-28" {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision,
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            http = http.with("mcp-method", method);
            let name = params.get("name").or(params.get("uri"));
            if let Some(name) = name.and_then(Value::as_str) {
                http = http.with("mcp-name", name);
            }
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        (http, body)
    }

    /// The result of a request.
    async fn result(&self, method: &str, params: Value) -> Value {
        let answer = self.request(method, params).await.ok(200);
        let result = answer.get("result").cloned();
        result.unwrap_or_else(|| panic!("a result in {answer}"))
    }

    /// The code of a protocol error.
    async fn error_code(&self, method: &str, params: Value) -> i64 {
        let answer = self.request(method, params).await.json();
        let code = answer["error"]["code"].as_i64();
        code.unwrap_or_else(|| panic!("an error in {answer}"))
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.result("tools/call", params).await
    }

    /// The result of a tool that succeeds: the JSON of its text, which the structured content repeats.
    async fn ok(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_ne!(result["isError"], true, "{tool}: {result}");
        let json: Value = serde_json::from_str(text(&result["content"][0], "text")).unwrap();
        let structured = result.get("structuredContent");
        // The earlier revision has structured content of objects only.
        if json.is_object() || self.revision == "2026-07-28" {
            assert_eq!(structured, Some(&json), "{tool}");
        } else {
            assert_eq!(structured, None, "{tool}");
        }
        json
    }

    /// The text and the code of a tool that fails.
    async fn failure(&self, tool: &str, arguments: Value) -> (String, String) {
        let result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], true, "{tool}: {result}");
        let text = text(&result["content"][0], "text").to_owned();
        let code = result["_meta"]["hansard/code"].as_str().unwrap().to_owned();
        (text, code)
    }

    /// A new conversation of a user; its id.
    async fn created(&self, user: &str) -> String {
        let created = self.ok("create_conversation", json!({"user_id": user}));
        text(&created.await, "id").to_owned()
    }

    async fn record(&self, id: &str, user: &str, assistant: &str) -> Value {
        let arguments = json!({
            "conversation_id": id, "user_message": user, "assistant_response": assistant,
        });
        self.ok("record_interaction", arguments).await
    }
}
