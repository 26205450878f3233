//! Operators' commands against a stack, and the search for what must not be found.

use serde_json::Value;
use tests::agent::Agent;
use tests::events::user;
use tests::folder::files_with;
use tests::program::Ended;
use tests::stack::Stack;
use wire::proto::event::v1 as event;
use wire::proto::write::v1::CreateConversationRequest;

/// Runs a command against a stack's own servers.
pub(crate) async fn run(stack: &Stack, line: &str) -> Ended {
    let url = stack
        .writer
        .settings
        .projector
        .read_model
        .database_url
        .clone();
    let variables = [
        (
            "HANSARD_RECORD__NATS_URL".to_owned(),
            stack.servers.nats().url(),
        ),
        ("HANSARD_READ_MODEL__DATABASE_URL".to_owned(), url),
    ];
    tests::program!()
        .run(line.split_whitespace(), &variables)
        .await
}

/// Runs a command that must end with this code.
pub(crate) async fn check(stack: &Stack, line: &str, code: i32) -> Ended {
    let ended = run(stack, line).await;
    assert_eq!(ended.code, Some(code), "{line}: {ended:?}");
    ended
}

/// What a command that must succeed prints as JSON.
pub(crate) async fn json(stack: &Stack, line: &str) -> Value {
    let ended = check(stack, line, 0).await;
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

/// The ids in an erasure's JSON.
pub(crate) fn erased_ids(told: &Value) -> Vec<&str> {
    let entries = told["signed"]["receipt"]["conversations"].as_array();
    let entries = entries.expect("conversations").iter();
    entries
        .map(|entry| entry["conversation"].as_str().expect("an id"))
        .collect()
}

/// Begins a conversation of an owner that says these texts.
pub(crate) async fn conversation(agent: &Agent, id: &str, owner: event::Owner, texts: &[String]) {
    let request = CreateConversationRequest {
        owner: Some(owner),
        ..agent.create_request(id)
    };
    agent.try_create(request).await.expect("a conversation");
    for text in texts {
        agent.append(id, vec![user(text.clone())]).await;
    }
}

/// Begins a fork of a conversation behind one of its versions.
pub(crate) async fn fork(agent: &Agent, id: &str, parent: &str, version: u64) {
    let request = CreateConversationRequest {
        forked_from: Some(event::ForkPoint {
            conversation_id: parent.to_owned(),
            version,
            depth: 0,
        }),
        ..agent.create_request(id)
    };
    agent.try_create(request).await.expect("a fork");
}

/// The texts that are in some file of the nats-server's.
pub(crate) fn in_nats<'t>(stack: &Stack, texts: &[&'t str]) -> Vec<&'t str> {
    let folder = stack.servers.nats().folder();
    let is_there = |text: &&&str| !files_with(folder, text.as_bytes()).is_empty();
    texts.iter().filter(is_there).copied().collect()
}
