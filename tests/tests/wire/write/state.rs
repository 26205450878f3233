//! Commands that the conversation's state does not allow: code, reason and field, and nothing is appended.

use std::collections::HashMap;

use tests::agent::Agent;
use tests::errors::{Expected, check_failure};
use tests::events::{call, result, user};
use tests::stack::Setup;
use tonic::Code::{Aborted, AlreadyExists, FailedPrecondition, NotFound};
use wire::proto::event::v1::event::Fact;
use wire::proto::write::v1 as proto;

use super::{Ask, with};

type Case = (&'static str, Ask, Expected);

async fn check(agent: &Agent, conversation: &str, (case, ask, expected): Case) {
    let before = agent.version(conversation).await;
    let failure = check_failure(case, ask.send(agent).await, expected);
    let told: HashMap<String, String> = match expected.1 {
        "VERSION_CONFLICT" => [("current_version".to_owned(), before.to_string())].into(),
        "TOO_MANY_OPEN_CALLS" => [("open_calls_max".to_owned(), "128".to_owned())].into(),
        _ => HashMap::new(),
    };
    assert_eq!(failure.metadata, told, "{case}");
    assert_eq!(
        agent.version(conversation).await,
        before,
        "{case}: something was appended"
    );
}

fn append(agent: &Agent, conversation: &str, events: Vec<wire::proto::event::v1::Event>) -> Ask {
    Ask::Append(agent.append_request(conversation, events))
}

fn expecting(agent: &Agent, conversation: &str, version: u64) -> proto::CommandTarget {
    with(agent.target(conversation), |target| {
        target.expected_version = Some(version)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_conversations_and_versions() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let missing: Expected = (NotFound, "CONVERSATION_NOT_FOUND", "");
    for (case, ask) in [
        ("append to nothing", append(&agent, "none", vec![user("x")])),
        (
            "update nothing",
            Ask::Update(agent.update_request("none", &["title"])),
        ),
        ("archive nothing", Ask::Archive(agent.target("none"))),
        ("restore nothing", Ask::Restore(agent.target("none"))),
        ("erase nothing", Ask::Erase(agent.target("none"))),
    ] {
        check(&agent, "none", (case, ask, missing)).await;
    }
    agent.create("c").await;
    agent.append("c", vec![user("1"), user("2")]).await;
    let taken = Ask::Create(agent.create_request("c"));
    check(
        &agent,
        "c",
        (
            "a taken id",
            taken,
            (AlreadyExists, "CONVERSATION_EXISTS", ""),
        ),
    )
    .await;
    let conflict: Expected = (Aborted, "VERSION_CONFLICT", "");
    for version in [0, 1, 2, 4, u64::MAX] {
        let target = expecting(&agent, "c", version);
        let request = agent.append_request("c", vec![user("x")]);
        let appending = Ask::Append(with(request, |r| r.target = Some(target.clone())));
        check(
            &agent,
            "c",
            ("append to another version", appending, conflict),
        )
        .await;
        let archiving = Ask::Archive(target.clone());
        check(
            &agent,
            "c",
            ("archive another version", archiving, conflict),
        )
        .await;
        let erasing = Ask::Erase(target);
        check(&agent, "c", ("erase another version", erasing, conflict)).await;
    }
    let request = agent.append_request("c", vec![user("x")]);
    let exact = with(request, |r| r.target = Some(expecting(&agent, "c", 3)));
    assert_eq!(
        agent
            .try_append(exact)
            .await
            .expect("the right version")
            .version,
        4
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_calls_and_results() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent
        .append(
            "c",
            vec![call("open", "{}"), call("done", "{}"), result("done", "1")],
        )
        .await;
    let of_another_tool = with(result("open", "1"), |event| {
        if let Some(Fact::ToolReturned(result)) = &mut event.fact {
            result.tool_name = "other".to_owned();
        }
    });
    let not_open = |field| (FailedPrecondition, "TOOL_CALL_NOT_OPEN", field);
    let cases: [Case; 6] = [
        (
            "a result without its call",
            append(&agent, "c", vec![result("never", "1")]),
            not_open("events[0].tool_returned.call_id"),
        ),
        (
            "a second result, in a later commit",
            append(&agent, "c", vec![user("x"), result("done", "2")]),
            not_open("events[1].tool_returned.call_id"),
        ),
        (
            "a second result, in the same commit",
            append(&agent, "c", vec![result("open", "1"), result("open", "2")]),
            not_open("events[1].tool_returned.call_id"),
        ),
        (
            "a result before its call",
            append(&agent, "c", vec![result("new", "1"), call("new", "{}")]),
            not_open("events[0].tool_returned.call_id"),
        ),
        (
            "a call under the id of one that waits",
            append(&agent, "c", vec![call("open", "{}")]),
            (
                FailedPrecondition,
                "TOOL_CALL_ALREADY_OPEN",
                "events[0].tool_called.call_id",
            ),
        ),
        (
            "a result that names another tool",
            append(&agent, "c", vec![of_another_tool]),
            (
                FailedPrecondition,
                "TOOL_MISMATCH",
                "events[0].tool_returned.call_id",
            ),
        ),
    ];
    for case in cases {
        check(&agent, "c", case).await;
    }
    agent
        .append("c", vec![result("open", "1"), call("open", "{}")])
        .await;
    let open = agent.conversation("c").await.open_calls;
    assert_eq!(
        open.iter().map(|call| call.version).collect::<Vec<_>>(),
        [6]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn archived_and_erased_conversations() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("archived").await;
    agent
        .try_archive(agent.target("archived"))
        .await
        .expect("archived");
    let archived: Expected = (FailedPrecondition, "CONVERSATION_ARCHIVED", "");
    let update = Ask::Update(agent.update_request("archived", &["title"]));
    check(
        &agent,
        "archived",
        (
            "append",
            append(&agent, "archived", vec![user("x")]),
            archived,
        ),
    )
    .await;
    check(&agent, "archived", ("update", update, archived)).await;
    let create = Ask::Create(agent.create_request("archived"));
    check(
        &agent,
        "archived",
        ("create", create, (AlreadyExists, "CONVERSATION_EXISTS", "")),
    )
    .await;

    agent.create("erased").await;
    agent
        .try_erase(agent.target("erased"))
        .await
        .expect("erased");
    let erased: Expected = (FailedPrecondition, "CONVERSATION_ERASED", "");
    for (case, ask) in [
        ("append", append(&agent, "erased", vec![user("x")])),
        (
            "update",
            Ask::Update(agent.update_request("erased", &["title"])),
        ),
        ("archive", Ask::Archive(agent.target("erased"))),
        ("restore", Ask::Restore(agent.target("erased"))),
        ("create", Ask::Create(agent.create_request("erased"))),
    ] {
        check(&agent, "erased", (case, ask, erased)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_calls_at_their_bound_and_one_past() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let calls: Vec<_> = (0..128).map(|id| call(&id.to_string(), "{}")).collect();
    agent.append("c", calls).await;
    let one_more = append(&agent, "c", vec![call("128", "{}")]);
    let expected = (
        FailedPrecondition,
        "TOO_MANY_OPEN_CALLS",
        "events[0].tool_called.call_id",
    );
    check(&agent, "c", ("one call more", one_more, expected)).await;
    assert_eq!(agent.conversation("c").await.open_calls.len(), 128);
    agent
        .append("c", vec![result("7", "1"), call("128", "{}")])
        .await;
}
