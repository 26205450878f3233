//! Rows, tail, or both: every read has the same answer for every position of the projector.

use tests::agent::Agent;
use tests::events::{assistant, call, error, note, result, user};
use tests::stack::{Setup, Stack};
use wire::proto::read::v1 as proto;
use wire::proto::write::v1::UpdateConversationRequest;

/// All answers of all reads of one conversation.
#[derive(Debug, PartialEq)]
struct Answers {
    conversation: proto::GetConversationResponse,
    events: Vec<Vec<proto::RecordedEvent>>,
    contexts: Vec<proto::AssembleContextResponse>,
}

/// Commits of every kind, in order; each is one step.
const STEPS: usize = 9;

async fn step(agent: &Agent, step: usize) {
    let update =
        |title: &str| UpdateConversationRequest { title: title.to_owned(), ..agent.update_request("c", &["title"]) };
    match step {
        0 => drop(agent.create("c").await),
        1 => drop(agent.append("c", vec![user("one"), assistant("two")]).await),
        2 => drop(agent.append("c", vec![assistant("looking"), call("1", r#"{"q": 1.0}"#), call("2", "[]")]).await),
        3 => drop(agent.append("c", vec![result("2", "2"), note("between")]).await),
        4 => drop(agent.try_update(update("first")).await.expect("an update")),
        5 => drop(agent.append("c", vec![result("1", "1"), error("slow"), assistant("three")]).await),
        6 => drop(agent.try_archive(agent.target("c")).await.expect("archived")),
        7 => drop(agent.try_restore(agent.target("c")).await.expect("restored")),
        _ => drop(agent.try_update(update("second")).await.expect("an update")),
    }
}

async fn answers(agent: &Agent) -> Answers {
    let conversation = agent.try_get(agent.read_target("c")).await.expect("a conversation");
    let requests = [
        agent.list_request("c"),
        proto::ListEventsRequest { page_size: 3, ..agent.list_request("c") },
        proto::ListEventsRequest {
            direction: proto::Direction::Backward.into(),
            page_size: 4,
            ..agent.list_request("c")
        },
        proto::ListEventsRequest {
            kinds: vec![proto::EventKind::MessageAppended.into(), proto::EventKind::ToolReturned.into()],
            from_version: 3,
            to_version: 12,
            ..agent.list_request("c")
        },
    ];
    let mut events = Vec::new();
    for request in requests {
        events.push(agent.events(request).await);
    }
    let mut contexts = Vec::new();
    for messages_max in [1, 2, 3, 4, 5, 50] {
        let mut context = agent.context("c", messages_max).await;
        // Only the source of the events may differ.
        let report = context.report.as_mut().expect("a report");
        report.events_from_rows += std::mem::take(&mut report.events_from_tail);
        contexts.push(context);
    }
    Answers { conversation, events, contexts }
}

async fn project(stack: &mut Stack, agent: &Agent) {
    let version = agent.version("c").await;
    stack.projector.start().await;
    agent.wait_for_rows("c", version).await;
    stack.projector.stop().await;
}

/// The projector stops after each step in turn; later events come from the tail.
#[tokio::test(flavor = "multi_thread")]
async fn every_split_between_rows_and_tail_reads_the_same() {
    let mut stack = Setup::tasks().start().await;
    stack.projector.stop().await;
    for split in 0..=STEPS {
        // A separate conversation for each split, of a separate agent.
        let agent = stack.any_agent().await;
        for index in 0..split {
            step(&agent, index).await;
        }
        if split > 0 {
            project(&mut stack, &agent).await;
        }
        for index in split..STEPS {
            step(&agent, index).await;
        }
        let by_tail = answers(&agent).await;
        let events = &by_tail.events[0];
        let versions: Vec<u64> = events.iter().map(|event| event.version).collect();
        assert_eq!(versions, (1..=15).collect::<Vec<u64>>());
        project(&mut stack, &agent).await;
        let by_rows = answers(&agent).await;
        assert_eq!(by_tail, by_rows, "split after {split} steps");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_has_the_sources_of_events() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![user("1"), assistant("2")]).await;
    agent.wait_for_rows("c", 3).await;
    stack.projector.stop().await;
    agent.append("c", vec![user("3")]).await;
    let check = async |messages_max, expected| {
        let report = agent.context("c", messages_max).await.report.expect("a report");
        let seen = (report.events_from_rows, report.events_from_tail, report.truncated);
        assert_eq!(seen, expected, "{messages_max}");
    };
    check(10, (2, 1, false)).await;
    check(3, (2, 1, false)).await;
    check(2, (1, 1, true)).await;
    check(1, (0, 1, true)).await;
}

/// Eventual reads only see the rows; a conversation without rows is not found.
#[tokio::test(flavor = "multi_thread")]
async fn eventual_reads_use_only_rows() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![user("seen")]).await;
    agent.wait_for_rows("c", 2).await;
    stack.projector.stop().await;
    agent.append("c", vec![user("unseen")]).await;
    agent.create("d").await;
    let target = agent.eventual_target("c");
    let read = agent.try_get(target.clone()).await.expect("a conversation");
    assert_eq!(read.conversation.expect("a conversation").version, 2);
    let context = agent.try_context(target.clone(), 10).await.expect("a context");
    assert_eq!((context.version, context.messages.len()), (2, 1));
    let request = proto::ListEventsRequest { target: Some(target), ..Default::default() };
    let page = agent.try_events(request).await.expect("events");
    assert_eq!((page.version, page.events.len()), (2, 2));
    let missing = agent.try_get(agent.eventual_target("d")).await;
    assert_eq!(missing.expect_err("no row").code(), tonic::Code::NotFound);
    assert_eq!(agent.version("d").await, 1);
}
