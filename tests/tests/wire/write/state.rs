//! Commands that the conversation's state does not allow: code, reason and field, and nothing is appended.

use std::collections::HashMap;

use tests::agent::Agent;
use tests::errors::{Expected, check_failure};
use tests::events::{call, result, user};
use tests::stack::Stack;
use tonic::Code::{Aborted, AlreadyExists, FailedPrecondition, NotFound};
use wire::proto::event::v1::Event;
use wire::proto::event::v1::event::Fact;
use wire::proto::write::v1 as proto;

use super::{Command, with};

type Case = (&'static str, Command, Expected);

async fn check(agent: &Agent, conversation: &str, (case, command, expected): Case) {
    let before = agent.version(conversation).await;
    let failure = check_failure(case, command.send(agent).await, expected);
    let metadata: HashMap<String, String> = match expected.1 {
        "VERSION_CONFLICT" => [("current_version".to_owned(), before.to_string())].into(),
        "TOO_MANY_OPEN_CALLS" => [("open_calls_max".to_owned(), "128".to_owned())].into(),
        _ => HashMap::new(),
    };
    assert_eq!(failure.metadata, metadata, "{case}");
    assert_eq!(agent.version(conversation).await, before, "{case}: something was appended");
}

fn append(agent: &Agent, conversation: &str, events: Vec<Event>) -> Command {
    Command::Append(agent.append_request(conversation, events))
}

fn at_version(agent: &Agent, conversation: &str, version: u64) -> proto::CommandTarget {
    with(agent.target(conversation), |target| {
        target.expected_version = Some(version);
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_conversations_and_versions() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let missing: Expected = (NotFound, "CONVERSATION_NOT_FOUND", "");
    for (case, command) in [
        ("append to nothing", append(&agent, "none", vec![user("x")])),
        ("update nothing", Command::Update(agent.update_request("none", &["title"]))),
        ("archive nothing", Command::Archive(agent.target("none"))),
        ("restore nothing", Command::Restore(agent.target("none"))),
        ("erase nothing", Command::Erase(agent.target("none"))),
    ] {
        check(&agent, "none", (case, command, missing)).await;
    }
    agent.create("c").await;
    agent.append("c", vec![user("1"), user("2")]).await;
    let taken = Command::Create(agent.create_request("c"));
    check(&agent, "c", ("a taken id", taken, (AlreadyExists, "CONVERSATION_EXISTS", ""))).await;
    let conflict: Expected = (Aborted, "VERSION_CONFLICT", "");
    for version in [0, 1, 2, 4, u64::MAX] {
        let target = at_version(&agent, "c", version);
        let request = agent.append_request("c", vec![user("x")]);
        let appending = Command::Append(with(request, |r| r.target = Some(target.clone())));
        check(&agent, "c", ("append to another version", appending, conflict)).await;
        let archiving = Command::Archive(target.clone());
        check(&agent, "c", ("archive another version", archiving, conflict)).await;
        let erasing = Command::Erase(target);
        check(&agent, "c", ("erase another version", erasing, conflict)).await;
    }
    let request = agent.append_request("c", vec![user("x")]);
    let exact = with(request, |r| r.target = Some(at_version(&agent, "c", 3)));
    assert_eq!(agent.try_append(exact).await.expect("the right version").version, 4);
}

/// A missing agent, with the path of its field.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_agents() {
    let stack = Stack::shared().await;
    let known = stack.any_agent().await;
    let agent = Agent::new(known.caller().clone(), &"a".repeat(64));
    let create = Command::Create(agent.create_request("c"));
    let update = Command::Update(agent.update_request("c", &["title"]));
    for (command, field) in [
        (create, "agent_id"),
        (append(&agent, "c", vec![user("x")]), "target.agent_id"),
        (update, "target.agent_id"),
        (Command::Archive(agent.target("c")), "target.agent_id"),
        (Command::Restore(agent.target("c")), "target.agent_id"),
        (Command::Erase(agent.target("c")), "target.agent_id"),
    ] {
        let outcome = command.send(&agent).await;
        check_failure("an unknown agent", outcome, (NotFound, "AGENT_NOT_FOUND", field));
    }
}

const CALLED: &str = "events[0].tool_called.call_id";
const FIRST_RETURNED: &str = "events[0].tool_returned.call_id";
const SECOND_RETURNED: &str = "events[1].tool_returned.call_id";

/// Name, events, reason, field; the call `open` is pending, the call `done` has its result.
type ToolCase = (&'static str, Vec<Event>, &'static str, &'static str);

#[rustfmt::skip]
fn tool_cases() -> Vec<ToolCase> {
    let of_another_tool = with(result("open", "1"), |event| {
        if let Some(Fact::ToolReturned(result)) = &mut event.fact {
            result.tool_name = "other".to_owned();
        }
    });
    vec![
        ("no call", vec![result("never", "1")], "TOOL_CALL_NOT_OPEN", FIRST_RETURNED),
        ("a second result", vec![user("x"), result("done", "2")], "TOOL_CALL_NOT_OPEN", SECOND_RETURNED),
        ("two results", vec![result("open", "1"), result("open", "2")], "TOOL_CALL_NOT_OPEN", SECOND_RETURNED),
        ("a result before its call", vec![result("new", "1"), call("new", "{}")], "TOOL_CALL_NOT_OPEN", FIRST_RETURNED),
        ("a call that waits", vec![call("open", "{}")], "TOOL_CALL_ALREADY_OPEN", CALLED),
        ("another tool", vec![of_another_tool], "TOOL_MISMATCH", FIRST_RETURNED),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_calls_and_results() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let events = vec![call("open", "{}"), call("done", "{}"), result("done", "1")];
    agent.append("c", events).await;
    for (case, events, reason, field) in tool_cases() {
        let expected = (FailedPrecondition, reason, field);
        check(&agent, "c", (case, append(&agent, "c", events), expected)).await;
    }
    let events = vec![result("open", "1"), call("open", "{}")];
    agent.append("c", events).await;
    let open = agent.conversation("c").await.open_calls;
    let versions: Vec<u64> = open.iter().map(|call| call.version).collect();
    assert_eq!(versions, [6]);
}

#[tokio::test(flavor = "multi_thread")]
async fn archived_and_erased_conversations() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("archived").await;
    agent.try_archive(agent.target("archived")).await.expect("archived");
    let archived: Expected = (FailedPrecondition, "CONVERSATION_ARCHIVED", "");
    let update = Command::Update(agent.update_request("archived", &["title"]));
    check(&agent, "archived", ("append", append(&agent, "archived", vec![user("x")]), archived)).await;
    check(&agent, "archived", ("update", update, archived)).await;
    let create = Command::Create(agent.create_request("archived"));
    check(&agent, "archived", ("create", create, (AlreadyExists, "CONVERSATION_EXISTS", ""))).await;

    agent.create("erased").await;
    agent.try_erase(agent.target("erased")).await.expect("erased");
    let erased: Expected = (FailedPrecondition, "CONVERSATION_ERASED", "");
    for (case, command) in [
        ("append", append(&agent, "erased", vec![user("x")])),
        ("update", Command::Update(agent.update_request("erased", &["title"]))),
        ("archive", Command::Archive(agent.target("erased"))),
        ("restore", Command::Restore(agent.target("erased"))),
        ("create", Command::Create(agent.create_request("erased"))),
    ] {
        check(&agent, "erased", (case, command, erased)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_calls_at_their_bound_and_one_past() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let calls: Vec<_> = (0..128).map(|id| call(&id.to_string(), "{}")).collect();
    agent.append("c", calls).await;
    let one_more = append(&agent, "c", vec![call("128", "{}")]);
    let expected = (FailedPrecondition, "TOO_MANY_OPEN_CALLS", "events[0].tool_called.call_id");
    check(&agent, "c", ("one call more", one_more, expected)).await;
    assert_eq!(agent.conversation("c").await.open_calls.len(), 128);
    agent.append("c", vec![result("7", "1"), call("128", "{}")]).await;
}
