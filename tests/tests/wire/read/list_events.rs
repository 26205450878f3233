//! `ListEvents`: ranges, both directions, kinds and pages, compared with a plain filter over all events.

use tests::agent::Agent;
use tests::events::{assistant, call, error, note, result, user};
use tests::stack::{Setup, Stack};
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::EventKind;

/// The kinds of the events of [`fill`], by version.
const KINDS: [EventKind; 13] = [
    EventKind::ConversationCreated,
    EventKind::MessageAppended,
    EventKind::MessageAppended,
    EventKind::ToolCalled,
    EventKind::ToolReturned,
    EventKind::SystemNoted,
    EventKind::ErrorOccurred,
    EventKind::ConversationUpdated,
    EventKind::ConversationArchived,
    EventKind::ConversationRestored,
    EventKind::MessageAppended,
    EventKind::ToolCalled,
    EventKind::MessageAppended,
];

async fn fill(agent: &Agent) {
    agent.create("c").await;
    agent.append("c", vec![user("2"), assistant("3"), call("1", "{}"), result("1", "5")]).await;
    agent.append("c", vec![note("6"), error("7")]).await;
    agent.try_update(agent.update_request("c", &["title"])).await.expect("an update");
    agent.try_archive(agent.target("c")).await.expect("archived");
    agent.try_restore(agent.target("c")).await.expect("restored");
    agent.append("c", vec![user("11"), call("2", "{}"), user("13")]).await;
}

struct Query {
    from: u64,
    to: u64,
    kinds: &'static [EventKind],
}

/// The result of a plain filter over all versions, oldest first.
fn expected(query: &Query) -> Vec<u64> {
    let last = if query.to == 0 { u64::MAX } else { query.to };
    (1..)
        .zip(KINDS)
        .filter(|(version, _)| (query.from..=last).contains(version))
        .filter(|(_, kind)| query.kinds.is_empty() || query.kinds.contains(kind))
        .map(|(version, _)| version)
        .collect()
}

async fn check(agent: &Agent, query: &Query, page_size: u32) {
    let request = proto::ListEventsRequest {
        from_version: query.from,
        to_version: query.to,
        kinds: query.kinds.iter().map(|kind| (*kind).into()).collect(),
        page_size,
        ..agent.list_request("c")
    };
    let backward = proto::ListEventsRequest { direction: proto::Direction::Backward.into(), ..request.clone() };
    let versions = async |request| {
        let events = agent.events(request).await;
        events.iter().map(|event| event.version).collect::<Vec<u64>>()
    };
    let mut wanted = expected(query);
    let case = format!("{}..={} {:?} by {page_size}", query.from, query.to, query.kinds);
    assert_eq!(versions(request).await, wanted, "{case}");
    wanted.reverse();
    assert_eq!(versions(backward).await, wanted, "{case}, backward");
}

const QUERIES: [Query; 9] = [
    Query { from: 0, to: 0, kinds: &[] },
    Query { from: 1, to: 13, kinds: &[] },
    Query { from: 4, to: 11, kinds: &[] },
    Query { from: 7, to: 7, kinds: &[] },
    Query { from: 12, to: 99, kinds: &[] },
    Query { from: 14, to: 0, kinds: &[] },
    Query { from: 0, to: 0, kinds: &[EventKind::MessageAppended] },
    Query { from: 3, to: 12, kinds: &[EventKind::ToolCalled, EventKind::ConversationArchived] },
    Query { from: 0, to: 0, kinds: &[EventKind::ConversationErased] },
];

#[tokio::test(flavor = "multi_thread")]
async fn from_rows_tail_and_both() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    stack.projector.stop().await;
    fill(&agent).await;
    let check_all = async || {
        for query in &QUERIES {
            for page_size in [1, 2, 5, 0] {
                check(&agent, query, page_size).await;
            }
        }
    };
    check_all().await;
    stack.projector.start().await;
    agent.wait_for_rows("c", 13).await;
    check_all().await;
}

/// A page has at most 3 MiB, and at least one event.
#[tokio::test(flavor = "multi_thread")]
async fn pages_are_bounded_in_bytes() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    for _ in 0..8 {
        agent.append("c", vec![user("x".repeat(500_000)), user("y".repeat(500_000))]).await;
    }
    for direction in [proto::Direction::Forward, proto::Direction::Backward] {
        let mut request = agent.list_request("c");
        request.direction = direction.into();
        let first = agent.try_events(request.clone()).await.expect("a page");
        assert!((5..=7).contains(&first.events.len()), "{}", first.events.len());
        assert_eq!(first.version, 17);
        let mut versions: Vec<u64> = agent.events(request).await.iter().map(|event| event.version).collect();
        versions.sort_unstable();
        assert_eq!(versions, (1..=17).collect::<Vec<u64>>());
    }
}

/// Pages continue while the conversation grows, and while the projector catches up.
#[tokio::test(flavor = "multi_thread")]
async fn pages_of_a_conversation_that_grows() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    stack.projector.stop().await;
    fill(&agent).await;
    let mut request = proto::ListEventsRequest { page_size: 3, ..agent.list_request("c") };
    let mut versions = Vec::new();
    for round in 0.. {
        let page = agent.try_events(request.clone()).await.expect("a page");
        versions.extend(page.events.iter().map(|event| event.version));
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            break;
        }
        match round {
            0 => drop(agent.append("c", vec![user("14")]).await),
            1 => stack.projector.start().await,
            2 => drop(agent.append("c", vec![user("15"), user("16")]).await),
            _ => {}
        }
    }
    assert_eq!(versions, (1..=16).collect::<Vec<u64>>());
}
