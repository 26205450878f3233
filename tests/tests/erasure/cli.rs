//! Operator commands against a stack, and a search for erased texts.

use devstack::test::files_with;
use serde_json::Value;
use tests::agent::Agent;
use tests::events::user;
use tests::program::CommandOutput;
use tests::stack::Stack;
use wire::proto::event::v1 as event;
use wire::proto::write::v1::CreateConversationRequest;

/// Runs a command against the servers of a stack.
pub(crate) async fn run(stack: &Stack, line: &str) -> CommandOutput {
    let url = stack.writer.settings.projector.read_model.database_url.clone();
    let variables = [
        ("HANSARD_RECORD__NATS_URL".to_owned(), stack.servers.nats().url()),
        ("HANSARD_READ_MODEL__DATABASE_URL".to_owned(), url),
    ];
    tests::program!().run(line.split_whitespace(), &variables).await
}

/// Runs a command and checks its exit code.
pub(crate) async fn check(stack: &Stack, line: &str, code: i32) -> CommandOutput {
    let ended = run(stack, line).await;
    assert_eq!(ended.code, Some(code), "{line}: {ended:?}");
    ended
}

/// The JSON output of a successful command.
pub(crate) async fn json(stack: &Stack, line: &str) -> Value {
    let ended = check(stack, line, 0).await;
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

/// The ids in the JSON of an erasure.
pub(crate) fn erased_ids(report: &Value) -> Vec<&str> {
    let entries = report["signed"]["receipt"]["conversations"].as_array().expect("conversations").iter();
    entries.map(|entry| entry["conversation"].as_str().expect("an id")).collect()
}

/// Creates a conversation of an owner with these texts.
pub(crate) async fn conversation(agent: &Agent, id: &str, owner: event::Owner, texts: &[String]) {
    let request = CreateConversationRequest { owner: Some(owner), ..agent.create_request(id) };
    agent.try_create(request).await.expect("a conversation");
    for text in texts {
        agent.append(id, vec![user(text.clone())]).await;
    }
}

/// Creates a fork of a conversation after one of its versions.
pub(crate) async fn fork(agent: &Agent, id: &str, parent: &str, version: u64) {
    let request = CreateConversationRequest {
        forked_from: Some(event::ForkPoint { conversation_id: parent.to_owned(), version, depth: 0 }),
        ..agent.create_request(id)
    };
    agent.try_create(request).await.expect("a fork");
}

/// The texts that some file of the nats-server contains.
pub(crate) fn in_nats<'t>(stack: &Stack, texts: &[&'t str]) -> Vec<&'t str> {
    let folder = stack.servers.nats().folder();
    let is_there = |text: &&&str| !files_with(folder, text.as_bytes()).is_empty();
    texts.iter().filter(is_there).copied().collect()
}
