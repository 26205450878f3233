//! The events of a fork: those of its parents up to the forks, then its own, dense, in both directions, with any page
//! size.

use tests::agent::Agent;
use tests::events::{assistant, call, note, result, summary, user};
use tests::stack::{Setup, Stack};
use wire::proto::event::v1::event::Fact;
use wire::proto::read::v1::{
    AssembleContextRequest, ContextFormat, Direction, EventKind, ListEventsRequest, RecordedEvent,
};

use super::{fork, fork_point_of};

/// A root at version 9.
async fn root(agent: &Agent) {
    agent.create("root").await;
    let first = vec![user("2"), assistant("3"), call("a", "{}"), result("a", "5")];
    agent.append("root", first).await;
    agent.append("root", vec![summary(3, "6"), call("b", "{}")]).await;
    agent.append("root", vec![user("8"), note("9")]).await;
}

/// A fork, a fork of it, and a fork of that: `one` starts after 7, `two` after 10, `three` after 13; it ends at 15.
async fn three_levels(agent: &Agent) -> Vec<RecordedEvent> {
    root(agent).await;
    fork(agent, "one", "root", 7).await;
    agent.append("one", vec![user("9"), assistant("10"), user("11")]).await;
    fork(agent, "two", "one", 10).await;
    agent.append("two", vec![call("b", "{}"), result("b", "1"), user("14")]).await;
    fork(agent, "three", "two", 13).await;
    agent.append("three", vec![summary(9, "15")]).await;
    let mut expected = Vec::new();
    for (id, last) in [("root", 7), ("one", 10), ("two", 13), ("three", 15)] {
        let own = ListEventsRequest {
            from_version: u64::try_from(expected.len()).expect("a version") + 1,
            to_version: last,
            ..agent.list_request(id)
        };
        expected.extend(agent.events(own).await);
    }
    let versions: Vec<u64> = expected.iter().map(|event| event.version).collect();
    assert_eq!(versions, (1..=15).collect::<Vec<u64>>());
    expected
}

fn is_one_of(event: &RecordedEvent, kinds: &[EventKind]) -> bool {
    let fact = tests::events::fact(event);
    let among = |kind: EventKind| kinds.contains(&kind);
    kinds.is_empty()
        || among(EventKind::MessageAppended) && matches!(fact, Fact::MessageAppended(_))
        || among(EventKind::ConversationCreated) && matches!(fact, Fact::ConversationCreated(_))
        || among(EventKind::HistorySummarised) && matches!(fact, Fact::HistorySummarised(_))
}

async fn check(agent: &Agent, all: &[RecordedEvent], asked: (u64, u64, u32, &[EventKind])) {
    let (from, to, page_size, kinds) = asked;
    let is_asked = |event: &&RecordedEvent| {
        (from..=if to == 0 { u64::MAX } else { to }).contains(&event.version) && is_one_of(event, kinds)
    };
    let mut expected: Vec<RecordedEvent> = all.iter().filter(is_asked).cloned().collect();
    for direction in [Direction::Forward, Direction::Backward] {
        let request = ListEventsRequest {
            from_version: from,
            to_version: to,
            page_size,
            direction: direction.into(),
            kinds: kinds.iter().map(|kind| (*kind).into()).collect(),
            ..agent.list_request("three")
        };
        assert_eq!(agent.events(request).await, expected, "{asked:?} {direction:?}");
        expected.reverse();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_and_pages_across_four_conversations() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    stack.projector.stop().await;
    let all = three_levels(&agent).await;
    assert_eq!(fork_point_of(&agent, "one").await, ("root".to_owned(), 7, 1));
    assert_eq!(fork_point_of(&agent, "three").await, ("two".to_owned(), 13, 3));
    let summaries = [EventKind::HistorySummarised, EventKind::ConversationCreated];
    for projected in [false, true] {
        if projected {
            stack.projector.start().await;
            for (id, version) in [("root", 9), ("one", 11), ("two", 14), ("three", 15)] {
                agent.wait_for_rows(id, version).await;
            }
        }
        for from in 1..=15 {
            for to in [0, from, from + 3, 13] {
                if to == 0 || to >= from {
                    check(&agent, &all, (from, to, 0, &[])).await;
                }
            }
        }
        for page_size in 1..=4 {
            check(&agent, &all, (1, 0, page_size, &[])).await;
            check(&agent, &all, (5, 12, page_size, &[])).await;
            check(&agent, &all, (1, 0, page_size, &summaries)).await;
            check(&agent, &all, (1, 0, page_size, &[EventKind::MessageAppended])).await;
        }
    }
}

/// At every version of a history with calls and summaries, the fork returns the parent's context and events of that
/// version.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_at_every_version() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    root(&agent).await;
    agent.wait_for_rows("root", 9).await;
    stack.projector.stop().await;
    let parents = agent.events(agent.list_request("root")).await;
    let context = async |id: &str, at_version: u64| {
        let request = AssembleContextRequest {
            target: Some(agent.read_target(id)),
            format: ContextFormat::Canonical.into(),
            at_version,
            ..AssembleContextRequest::default()
        };
        let answer = agent.caller().read().assemble_context(request).await;
        answer.expect("a context").into_inner()
    };
    for version in 1..=9 {
        let id = format!("at-{version}");
        let begun = fork(&agent, &id, "root", version).await;
        assert_eq!((begun.first_version, begun.version), (version + 1, version + 1));
        let events = agent.events(agent.list_request(&id)).await;
        let (own, shared) = events.split_last().expect("events");
        assert_eq!(shared, &parents[..shared.len()], "{id}");
        assert_eq!(own.version, version + 1);
        for at in 1..=version {
            assert_eq!(context(&id, at).await.body, context("root", at).await.body);
        }
        let whole = context(&id, 0).await;
        assert_eq!(whole.version, version + 1);
        let receipt = whole.receipt.expect("a receipt");
        let interrupted: &[&str] = match version {
            4 => &["a"],
            7.. => &["b"],
            _ => &[],
        };
        assert_eq!(receipt.pending_call_ids, Vec::<String>::new(), "{id}");
        assert_eq!(receipt.interrupted_call_ids, interrupted, "{id}");
        let kept = agent.context(&id, 50).await.report.expect("a report");
        assert_eq!(kept.pending_call_ids, Vec::<String>::new(), "{id}");
    }
}

/// Concurrent appends to the parent never appear in a fork.
#[tokio::test(flavor = "multi_thread")]
async fn appends_to_a_parent_never_appear_in_a_fork() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("parent").await;
    let append = async {
        for number in 0..60 {
            agent.append("parent", vec![user(format!("{number}"))]).await;
        }
    };
    let forks = async {
        let mut forks = Vec::new();
        for number in 0..20 {
            // At the parent's last version, which soon is not the last any more.
            let version = agent.version("parent").await;
            let id = format!("fork-{number}");
            fork(&agent, &id, "parent", version).await;
            let own = vec![user("mine")];
            assert_eq!(agent.append(&id, own).await.version, version + 2);
            forks.push((id, version));
        }
        forks
    };
    let ((), forks) = tokio::join!(append, forks);
    let parents = agent.events(agent.list_request("parent")).await;
    for (id, version) in forks {
        let events = agent.events(agent.list_request(&id)).await;
        let shared = usize::try_from(version).expect("a version");
        assert_eq!(events[..shared], parents[..shared], "{id}");
        assert_eq!(events.len(), shared + 2, "{id}");
        let last = tests::events::text_of(&events[shared + 1]);
        assert_eq!(last.as_deref(), Some("mine"));
    }
}
