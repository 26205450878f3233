//! `hansard context`, `context explain` and `verify-receipt` of a fork with shared events.

use std::path::Path;

use tests::agent::Agent;
use tests::events::{assistant, call, result, user};
use tests::program;
use tests::stack::Stack;
use wire::proto::event::v1::ForkPoint;
use wire::proto::operate::v1::Scope;
use wire::proto::write::v1::CreateConversationRequest;

const FORMS: [&str; 6] = ["canonical", "openai-chat", "openai-responses", "anthropic", "gemini", "ollama"];

/// The gateway's address and the token of commands.
async fn variables(stack: &Stack, agent: &Agent) -> [(String, String); 3] {
    let token = stack.operator().await.token(&[Scope::Read], "").await;
    [
        ("HANSARD_TOKEN".to_owned(), token.secret),
        ("HANSARD_GATEWAY_URL".to_owned(), stack.gateway.grpc_url()),
        ("HANSARD_AGENT".to_owned(), agent.id().to_owned()),
    ]
}

/// Runs a command successfully; returns its standard output.
async fn run(line: &str, variables: &[(String, String)]) -> String {
    let ended = program!().run(line.split_whitespace(), variables).await;
    assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
    ended.stdout
}

/// `root` has a call with a result and a pending one; `fork` starts there.
async fn fork(agent: &Agent) {
    agent.create("root").await;
    let shared = vec![user("Oslo?"), call("a", "{}"), result("a", "{}")];
    agent.append("root", shared).await;
    agent.append("root", vec![call("late", "{}")]).await;
    let request = CreateConversationRequest {
        forked_from: Some(ForkPoint { conversation_id: "root".to_owned(), version: 5, depth: 0 }),
        ..agent.create_request("fork")
    };
    agent.try_create(request).await.expect("a fork");
    agent.append("fork", vec![user("Rome?"), assistant("Warm.")]).await;
}

async fn receipts(folder: &Path, more: &str, variables: &[(String, String)]) -> Vec<String> {
    let mut files = Vec::new();
    for form in FORMS {
        let file = folder.join(format!("{form}{}.json", files.len())).to_str().expect("a path").to_owned();
        let line = format!("context fork --format {form} --receipt {file} {more}");
        let body = run(&line, variables).await;
        assert!(body.contains("Oslo?"), "{form}: {body}");
        files.push(file);
    }
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn receipts_of_forks_are_verified_and_explained() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let variables = variables(stack, &agent).await;
    fork(&agent).await;
    let (newest, shared) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut files = receipts(newest.path(), "", &variables).await;
    files.extend(receipts(shared.path(), "--at 4", &variables).await);
    // Later events of either are in no receipt.
    agent.append("root", vec![result("late", "{}")]).await;
    agent.append("fork", vec![user("Bern?")]).await;
    for file in files {
        let proved = run(&format!("verify-receipt {file}"), &variables).await;
        assert!(proved.starts_with("equal: version "), "{file}: {proved}");
    }
    let table = run("context explain fork --format canonical --at 8", &variables).await;
    let lines: Vec<&str> = table.lines().collect();
    for (version, text) in [
        ("2 ", "user"),
        ("3 ", "call of search"),
        ("4 ", "result of search"),
        ("5 ", "interrupted, a note says so"),
        ("7 ", "user"),
        ("8 ", "assistant"),
    ] {
        let row = lines.iter().find(|line| line.starts_with(version));
        assert!(row.is_some_and(|row| row.contains(text)), "{text}: {table}");
    }
    assert!(!table.contains("\n9 "), "{table}");
}
