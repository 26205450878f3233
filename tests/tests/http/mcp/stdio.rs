//! `hansard mcp`: messages of standard input reach the gateway, and its answers standard output.

use std::collections::BTreeMap;
use std::process::Stdio;

use serde_json::{Value, json};
use tests::eventually::within;
use tests::program;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use wire::proto::operate::v1::Scope;

use crate::fixture::{AGENT, Fixture, TENANT};

/// The answers to lines, by id (those without one have the id `null`), and the exit code.
async fn answers_of(url: &str, token: &str, lines: &[String]) -> (BTreeMap<String, Value>, i32) {
    let program = program!();
    let mut command = Command::new(program.path());
    command.args(["mcp", "--url", url, "--agent", AGENT]);
    command
        .env("HANSARD_TOKEN", token)
        .env_remove("HANSARD_TOKEN_FILE");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = lines.join("\n");
    let writing = async move {
        // A program that rejects its arguments reads nothing.
        let _ = stdin.write_all(text.as_bytes()).await;
    };
    let both = async { tokio::join!(writing, child.wait_with_output()).1 };
    let output = within("the end of the relay", both).await.unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let messages = lines
        .lines()
        .map(|line| -> Value { serde_json::from_str(line).unwrap() });
    let by_id = messages.map(|message| (message["id"].to_string(), message));
    (by_id.collect(), output.status.code().unwrap())
}

fn request(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_relay_answers_every_line() {
    let fixture = Fixture::new().await;
    let token = fixture
        .operator
        .token(&[Scope::Append, Scope::Read], TENANT)
        .await;
    let url = fixture.stack.http_client().url("/mcp");
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
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
        request(5, "subscriptions/listen", &json!({"notifications": {}})),
    ];
    let (answers, code) = answers_of(&url, &token.secret, &lines).await;
    assert_eq!(code, 0);
    assert_eq!(answers["1"]["result"]["protocolVersion"], "2025-11-25");
    for id in ["2", "3"] {
        let user = &answers[id]["result"]["structuredContent"]["user_id"];
        assert_eq!(user, "ada", "{}", answers[id]);
    }
    assert_eq!(answers["3"]["result"]["resultType"], "complete");
    assert_eq!(answers["4"]["error"]["code"], -32601);
    assert_eq!(answers["5"]["error"]["code"], -32601);
    assert_eq!(answers["null"]["error"]["code"], -32700);
    assert_eq!(answers.len(), 6);
    let lines = [request(1, "tools/list", &json!({}))];
    let (refused, _) = answers_of(&url, "hst_forged", &lines).await;
    let message = refused["1"]["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("401") && message.contains("valid token"),
        "{message}"
    );
    let closed = tests::port::free();
    let (unreachable, code) = answers_of(&format!("http://{closed}/mcp"), "t", &lines).await;
    assert_eq!(
        (unreachable["1"]["error"]["code"].as_i64(), code),
        (Some(-32603), 0)
    );
    let (nothing, code) = answers_of("chat.example.org", "t", &lines).await;
    assert_eq!((nothing.len(), code), (0, 2));
}
