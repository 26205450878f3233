//! `hansard import`: bad lines are reported by number and skipped; a second run duplicates nothing.

use std::path::Path;

use serde_json::Value;
use tests::agent::Agent;
use tests::events::{fact, text_of};
use tests::program;
use tests::program::CommandOutput;
use tests::stack::Stack;
use wire::proto::event::v1::event::Fact;
use wire::proto::operate::v1::Scope;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::list_conversations_request::Filter;

const LINES: &str = r#"{"id":"one","user":"ada","title":"First","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi \u0000 é"},{"role":"assistant","content":"Hello"}]}
{"messages": oops
{"id":"two","session":"s1","messages":[{"role":"user","content":"Weather?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Oslo\",  \"n\":1.10}"}}]},{"role":"tool","tool_call_id":"c1","content":"{\"t\": -3.0}"},{"role":"assistant","content":"Cold."}]}

{"id":"three","messages":[{"role":"tool","tool_call_id":"never","content":"x"}]}
{"id":"four","messages":[{"role":"nobody","content":"x"}]}
{"id":"five","messages":[{"role":"user","content":"last"}]}
{"id":"six","messages":[{"role":"user","content":[{"type":"text","text":""}]}]}
"#;

async fn import(stack: &Stack, agent: &Agent, file: &Path) -> CommandOutput {
    let token = stack.operator().await.token(&[Scope::Append], "").await.secret;
    let variables = [
        ("HANSARD_TOKEN".to_owned(), token),
        ("HANSARD_WRITER_URL".to_owned(), stack.writer.grpc_url()),
        ("HANSARD_AGENT".to_owned(), agent.id().to_owned()),
    ];
    program!().run([Path::new("import"), file, Path::new("--json")], &variables).await
}

/// The agent's conversations in order, after the rows have these versions.
async fn conversations(agent: &Agent, versions: &[u64]) -> Vec<proto::Conversation> {
    let request = agent.conversations_request(Filter::WholeAgent(proto::WholeAgent {}));
    tests::eventually::eventually("the imported conversations", || async {
        let mut found = agent.conversations(request.clone()).await;
        found.sort_by_key(|conversation| conversation.version);
        let are_there = found.iter().map(|conversation| conversation.version);
        are_there.eq(versions.iter().copied()).then_some(found)
    })
    .await
}

fn summary(ended: &CommandOutput) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_lines_are_reported_and_others_imported_once() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chats.jsonl");
    std::fs::write(&file, LINES).unwrap();
    let first = import(stack, &agent, &file).await;
    assert_eq!(first.code, Some(3), "{first:?}");
    for line in ["2", "5", "6", "8"] {
        assert!(first.stderr.contains(&format!("line {line}")), "no line {line} in {}", first.stderr);
    }
    for line in ["1", "3", "4", "7"] {
        assert!(!first.stderr.contains(&format!("line {line}:")), "{}", first.stderr);
    }
    let summary_of_run = summary(&first);
    assert_eq!((&summary_of_run["conversations"], &summary_of_run["refused"]), (&3.into(), &4.into()));
    let empty = "line 8: messages[0].message_appended.parts[0].text: is empty";
    assert!(first.stderr.contains(empty), "{}", first.stderr);
    assert_eq!((&summary_of_run["messages"], &summary_of_run["already_there"]), (&8.into(), &0.into()));
    // The fifth line has one message, the first three, the second four.
    let found = conversations(&agent, &[2, 4, 5]).await;
    assert_eq!(found[1].title, "First");
    let events = agent.events(agent.list_request(&found[1].conversation_id)).await;
    let texts: Vec<String> = events.iter().filter_map(text_of).collect();
    assert_eq!(texts, ["Be brief.", "Hi \0 é", "Hello"]);
    let events = agent.events(agent.list_request(&found[2].conversation_id)).await;
    let Fact::ToolCalled(call) = fact(&events[2]) else { panic!("{events:?}") };
    assert_eq!(call.input_json, r#"{"city": "Oslo",  "n":1.10}"#);

    let again = import(stack, &agent, &file).await;
    assert_eq!(again.code, Some(3), "{again:?}");
    let summary_of_run = summary(&again);
    assert_eq!((&summary_of_run["already_there"], &summary_of_run["commits"]), (&3.into(), &0.into()));
    assert_eq!(conversations(&agent, &[2, 4, 5]).await, found);
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_without_access_are_rejected() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chats.jsonl");
    std::fs::write(&file, LINES).unwrap();
    let stranger = Agent::new(agent.caller().clone(), "nobody");
    let ended = import(stack, &stranger, &file).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("AGENT_NOT_FOUND"), "{}", ended.stderr);
    let missing = import(stack, &agent, &folder.path().join("none.jsonl")).await;
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.stderr.contains("none.jsonl"), "{}", missing.stderr);
}
