//! `hansard mcp`: messages of standard input reach the gateway, and its answers standard output.

use std::collections::BTreeMap;
use std::process::Stdio;

use serde_json::{Value, json};
use tests::events::user;
use tests::eventually::within;
use tests::program;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use wire::proto::operate::v1::Scope;

use super::{McpClient, REVISIONS};
use crate::fixture::Fixture;

fn relay_command(url: &str, agent_id: &str, token: &str) -> Command {
    let program = program!();
    let mut command = Command::new(program.path());
    command.args(["mcp", "--url", url, "--agent", agent_id]);
    command.env("HANSARD_TOKEN", token).env_remove("HANSARD_TOKEN_FILE");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    command
}

/// The answers to lines, by id (those without one have the id `null`), and the exit code.
async fn answers_of(url: &str, agent_id: &str, token: &str, lines: &[String]) -> (BTreeMap<String, Value>, i32) {
    let mut child = relay_command(url, agent_id, token).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = lines.join("\n");
    let writing = async move {
        // A program that rejects its arguments reads nothing.
        let _ = stdin.write_all(text.as_bytes()).await;
    };
    let both = async { tokio::join!(writing, child.wait_with_output()).1 };
    let output = within("the end of the relay", both).await.unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let messages = lines.lines().map(|line| -> Value { serde_json::from_str(line).unwrap() });
    let by_id = messages.map(|message| (message["id"].to_string(), message));
    (by_id.collect(), output.status.code().unwrap())
}

fn request(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_relay_answers_every_line() {
    let fixture = Fixture::new().await;
    let token = fixture.operator.token(&[Scope::Append, Scope::Read], fixture.tenant).await;
    let url = fixture.stack.http_client().url("/mcp");
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let create = json!({"name": "create_conversation", "arguments": {"user_id": "ada"}});
    let mut modern = create.clone();
    modern["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let lines = [
        request(1, "initialize", &hello),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        String::new(),
        request(2, "tools/call", &create),
        request(3, "tools/call", &modern),
        request(4, "tools/erase", &json!({})),
        "{".to_owned(),
    ];
    let (answers, code) = answers_of(&url, fixture.agent_id, &token.secret, &lines).await;
    assert_eq!(code, 0);
    assert_eq!(answers["1"]["result"]["protocolVersion"], "2025-11-25");
    for id in ["2", "3"] {
        let user = &answers[id]["result"]["structuredContent"]["user_id"];
        assert_eq!(user, "ada", "{}", answers[id]);
    }
    assert_eq!(answers["3"]["result"]["resultType"], "complete");
    assert_eq!(answers["4"]["error"]["code"], -32601);
    assert_eq!(answers["null"]["error"]["code"], -32700);
    assert_eq!(answers.len(), 5);
    let lines = [request(1, "tools/list", &json!({}))];
    let (refused, _) = answers_of(&url, fixture.agent_id, "hst_forged", &lines).await;
    let message = refused["1"]["error"]["message"].as_str().unwrap();
    assert!(message.contains("401") && message.contains("valid token"), "{message}");
    let closed = tests::port::free();
    let (unreachable, code) = answers_of(&format!("http://{closed}/mcp"), fixture.agent_id, "t", &lines).await;
    assert_eq!((unreachable["1"]["error"]["code"].as_i64(), code), (Some(-32603), 0));
    let (nothing, code) = answers_of("chat.example.org", fixture.agent_id, "t", &lines).await;
    assert_eq!((nothing.len(), code), (0, 2));
}

/// A host that reads and writes line by line.
struct Host {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    next_id: u64,
}

impl Host {
    async fn of(fixture: &Fixture) -> Self {
        let scopes = [Scope::Append, Scope::Read];
        let token = fixture.operator.token(&scopes, fixture.tenant).await;
        let url = fixture.stack.http_client().url("/mcp");
        let mut child = relay_command(&url, fixture.agent_id, &token.secret).spawn().unwrap();
        Self {
            stdin: child.stdin.take().unwrap(),
            lines: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
            next_id: 0,
        }
    }

    async fn send(&mut self, line: &str) {
        let line = format!("{line}\n");
        let sending = self.stdin.write_all(line.as_bytes());
        within("the relay takes a line", sending).await.unwrap();
    }

    async fn message(&mut self) -> Value {
        let line = within("a message of the relay", self.lines.next_line()).await;
        serde_json::from_str(&line.unwrap().expect("a line")).unwrap()
    }

    /// The answer to a request, which is the next message.
    async fn call(&mut self, method: &str, params: &Value) -> Value {
        self.next_id += 1;
        self.send(&request(self.next_id, method, params)).await;
        let answer = self.message().await;
        assert_eq!(answer["id"], self.next_id, "{answer}");
        answer
    }

    /// Ends the input. The relay ends with all of its streams.
    async fn end(mut self) {
        drop(self.stdin);
        let status = within("the end of the relay", self.child.wait()).await;
        assert_eq!(status.unwrap().code(), Some(0));
        assert_eq!(self.lines.next_line().await.unwrap(), None);
    }
}

fn uri(id: &str) -> String {
    format!("hansard://conversations/{id}")
}

fn updated(id: &str) -> Value {
    let params = json!({"uri": uri(id)});
    json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params})
}

#[tokio::test(flavor = "multi_thread")]
async fn subscriptions_of_the_revision_with_a_handshake() {
    let fixture = Fixture::new().await;
    let mcp = McpClient::of_service(&fixture, REVISIONS[0]).await;
    let (one, two) = (mcp.created("ada").await, mcp.created("bob").await);
    let mut host = Host::of(&fixture).await;
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let offered = host.call("initialize", &hello).await;
    assert_eq!(offered["result"]["capabilities"]["resources"]["subscribe"], true);
    for id in [&one, &two, &one] {
        let answer = host.call("resources/subscribe", &json!({"uri": uri(id)})).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    for id in [&one, &two] {
        fixture.agent.append(id, vec![user("new")]).await;
        assert_eq!(host.message().await, updated(id));
    }
    let ended = host.call("resources/unsubscribe", &json!({"uri": uri(&one)})).await;
    assert_eq!(ended["result"], json!({}));
    fixture.agent.append(&one, vec![user("unseen")]).await;
    fixture.agent.append(&two, vec![user("seen")]).await;
    assert_eq!(host.message().await, updated(&two));
    let missing = host.call("resources/subscribe", &json!({"uri": uri("missing")})).await;
    assert_eq!(missing["error"]["code"], -32602, "{missing}");
    let nothing = host.call("resources/subscribe", &json!({})).await;
    assert_eq!(nothing["error"]["code"], -32602, "{nothing}");
    host.end().await;
}

/// A subscription outlives the streams of the gateway, which have a maximum age.
#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_continues_in_the_next_stream() {
    let fixture = Fixture::with(|config| config.http.live.age_max_ms = 1_000).await;
    let id = McpClient::of_service(&fixture, REVISIONS[0]).await.created("ada").await;
    let mut host = Host::of(&fixture).await;
    let answer = host.call("resources/subscribe", &json!({"uri": uri(&id)})).await;
    assert_eq!(answer["result"], json!({}));
    // Each further stream begins with a notification.
    for _ in 0..3 {
        assert_eq!(host.message().await, updated(&id));
    }
    host.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_the_stateless_revision_are_relayed() {
    let fixture = Fixture::new().await;
    let id = McpClient::of_service(&fixture, REVISIONS[1]).await.created("ada").await;
    let mut host = Host::of(&fixture).await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"notifications": {"resourceSubscriptions": [uri(&id)]}, "_meta": meta});
    host.send(&request(7, "subscriptions/listen", &params)).await;
    let acknowledged = host.message().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(host.message().await["params"]["uri"], uri(&id));
    fixture.agent.append(&id, vec![user("new")]).await;
    assert_eq!(host.message().await["params"]["uri"], uri(&id));
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    host.send(&cancelled.to_string()).await;
    fixture.agent.append(&id, vec![user("unseen")]).await;
    let answer = host.call("tools/list", &json!({"_meta": meta})).await;
    assert!(answer["result"]["tools"].is_array(), "{answer}");
    host.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_has_at_most_16_subscriptions() {
    let fixture = Fixture::new().await;
    let mcp = McpClient::of_service(&fixture, REVISIONS[0]).await;
    let mut host = Host::of(&fixture).await;
    let mut last = String::new();
    for _ in 0..16 {
        last = uri(&mcp.created("ada").await);
        let answer = host.call("resources/subscribe", &json!({"uri": last})).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    let params = json!({"uri": uri(&mcp.created("ada").await)});
    let over = host.call("resources/subscribe", &params).await;
    assert_eq!(over["error"]["code"], -32602, "{over}");
    host.call("resources/unsubscribe", &json!({"uri": last})).await;
    let again = host.call("resources/subscribe", &params).await;
    assert_eq!(again["result"], json!({}), "{again}");
    host.end().await;
}
