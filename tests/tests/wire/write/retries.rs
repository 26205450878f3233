//! Immediate retries: the same request with the same key gets the first answer, independent of later commits.

use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events::{call, result, user};
use tests::stack::{Setup, Stack};
use tonic::Code::FailedPrecondition;
use uuid::Uuid;
use wire::proto::event::v1::Event;
use wire::proto::write::v1 as proto;

use super::{Command, check_replayed, with};

/// A key as callers should make them.
fn new_key() -> String {
    Uuid::now_v7().to_string()
}

fn append_with_key(agent: &Agent, conversation: &str, events: Vec<Event>) -> proto::AppendEventsRequest {
    let target = with(agent.target(conversation), |target| {
        target.idempotency_key = new_key();
    });
    with(agent.append_request(conversation, events), |request| {
        request.target = Some(target);
    })
}

fn target_with_key(agent: &Agent, conversation: &str) -> proto::CommandTarget {
    with(agent.target(conversation), |target| {
        target.idempotency_key = new_key();
    })
}

/// Sends it twice, and checks that the second answer is a replay and nothing is added.
async fn check(agent: &Agent, conversation: &str, case: &str, command: Command) {
    let first = command.clone().send(agent).await.unwrap_or_else(|e| panic!("{case}: {e:?}"));
    let version = agent.conversation(conversation).await.version;
    let again = command.send(agent).await.unwrap_or_else(|e| panic!("{case}, again: {e:?}"));
    check_replayed(case, &again, &first);
    assert_eq!(agent.version(conversation).await, version, "{case}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_can_be_retried() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let create = with(agent.create_request("c"), |request| {
        request.idempotency_key = new_key();
    });
    check(&agent, "c", "create", Command::Create(create)).await;
    check(&agent, "c", "append", Command::Append(append_with_key(&agent, "c", vec![user("x"), user("y")]))).await;
    let update = with(agent.update_request("c", &["title"]), |request| {
        request.title = "t".to_owned();
        request.target = Some(target_with_key(&agent, "c"));
    });
    check(&agent, "c", "update", Command::Update(update)).await;
    check(&agent, "c", "archive", Command::Archive(target_with_key(&agent, "c"))).await;
    check(&agent, "c", "restore", Command::Restore(target_with_key(&agent, "c"))).await;
    let erase = target_with_key(&agent, "c");
    let first = agent.try_erase(erase.clone()).await.expect("erased");
    let again = agent.try_erase(erase).await.expect("erased");
    check_replayed("erase", &again, &first);
}

/// The first try makes the command invalid; its retry must still get the first answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_retry_of_what_the_first_try_made_invalid() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![call("1", "{}"), call("2", "{}")]).await;
    let returned = Command::Append(append_with_key(&agent, "c", vec![result("1", "1")]));
    check(&agent, "c", "a result", returned).await;
    check(&agent, "c", "a call", Command::Append(append_with_key(&agent, "c", vec![call("3", "{}")]))).await;
    let exact = with(append_with_key(&agent, "c", vec![user("x")]), |request| {
        if let Some(target) = &mut request.target {
            target.expected_version = Some(5);
        }
    });
    check(&agent, "c", "an exact version", Command::Append(exact)).await;
    let target = with(target_with_key(&agent, "c"), |target| {
        target.expected_version = Some(6);
    });
    check(&agent, "c", "archive an exact version", Command::Archive(target)).await;
}

/// Later commits push the first one out of the head's list of the latest eight.
#[tokio::test(flavor = "multi_thread")]
async fn a_retry_after_many_more_commits() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![call("1", "{}")]).await;
    let plain = append_with_key(&agent, "c", vec![user("first")]);
    let closing = append_with_key(&agent, "c", vec![result("1", "1")]);
    let exact = with(append_with_key(&agent, "c", vec![user("exact")]), |request| {
        if let Some(target) = &mut request.target {
            target.expected_version = Some(4);
        }
    });
    let mut firsts = Vec::new();
    for request in [plain, closing, exact] {
        firsts.push((request.clone(), agent.try_append(request).await.expect("a commit")));
    }
    for count in [1, 7, 12] {
        for _ in 0..count {
            agent.append("c", vec![user("later")]).await;
        }
        let version = agent.version("c").await;
        for (request, first) in &firsts {
            let again = agent.try_append(request.clone()).await.expect("the first answer");
            check_replayed(count, &again, first);
        }
        assert_eq!(agent.version("c").await, version);
    }
    stack.writer.stop().await;
    stack.writer.start().await;
    for (request, first) in &firsts {
        let again = agent.try_append(request.clone()).await.expect("the first answer");
        check_replayed("after a restart", &again, first);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_another_request() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let create = with(agent.create_request("c"), |request| {
        request.idempotency_key = new_key();
    });
    agent.try_create(create.clone()).await.expect("a conversation");
    let append = append_with_key(&agent, "c", vec![user("x")]);
    agent.try_append(append.clone()).await.expect("a commit");
    let key = append.target.clone().expect("a target").idempotency_key;
    let reused = |field| (FailedPrecondition, "IDEMPOTENCY_KEY_REUSED", field);
    let check = async |case, outcome, field| {
        check_failure(case, outcome, reused(field));
        assert_eq!(agent.version("c").await, 2, "{case}");
    };
    let other_text = with(append.clone(), |request| request.events = vec![user("y")]);
    check("another text", agent.try_append(other_text).await, "target.idempotency_key").await;
    let more = with(append.clone(), |request| request.events.push(user("x")));
    check("one event more", agent.try_append(more).await, "target.idempotency_key").await;
    let target = with(agent.target("c"), |target| {
        target.idempotency_key.clone_from(&key);
    });
    let archive = agent.try_archive(target).await;
    check("another command", archive, "target.idempotency_key").await;
    let title = with(create, |request| request.title = "t".to_owned());
    check("another title", agent.try_create(title).await, "idempotency_key").await;
}

/// A key belongs to its conversation: another one may use the same key, in any partition.
#[tokio::test(flavor = "multi_thread")]
async fn one_key_in_many_conversations() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let append = append_with_key(&agent, "", vec![user("x")]);
    let mut firsts = Vec::new();
    for index in 0..24 {
        let id = format!("c{index}");
        agent.create(&id).await;
        let request = with(append.clone(), |request| {
            if let Some(target) = &mut request.target {
                target.conversation_id = id;
            }
        });
        let first = agent.try_append(request.clone()).await.expect("a commit");
        assert_eq!((first.version, first.replayed), (2, false));
        firsts.push((request, first));
    }
    for (request, first) in firsts {
        let again = agent.try_append(request).await.expect("the first answer");
        check_replayed(&first.conversation_id, &again, &first);
    }
}
