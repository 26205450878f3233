//! Summaries: appended like messages, rejected when they cover nothing new, and read back.

use std::collections::HashMap;

use tests::agent::Agent;
use tests::errors::{Expected, check_failure};
use tests::events::{assistant, event, fact, summary, user};
use tests::stack::Stack;
use tonic::Code::{FailedPrecondition, InvalidArgument};
use wire::proto::event::v1::event::Fact;
use wire::proto::event::v1::{Event, HistorySummarised};
use wire::proto::read::v1::{EventKind, ListEventsRequest, ReadTarget};

use super::{check_replayed, with};

const THROUGH: &str = "events[1].history_summarised.through_version";
const TEXT: &str = "events[1].history_summarised.text";
const PREVIOUS: &str = "events[1].history_summarised.previous_version";
const BYTES_MAX: usize = 256 * 1_024;

/// Appends a message and this event; both are rejected, and nothing is appended.
async fn check(agent: &Agent, case: &str, event: Event, expected: Expected) {
    let before = agent.version("c").await;
    let request = agent.append_request("c", vec![user("x"), event]);
    let failure = check_failure(case, agent.try_append(request).await, expected);
    let told: HashMap<String, String> = match expected.1 {
        "SUMMARY_STALE" => [("summarised_through".to_owned(), "3".to_owned())].into(),
        "SUMMARY_BEYOND_HISTORY" => {
            let last = (before + 1).to_string();
            [("last_version".to_owned(), last)].into()
        }
        _ => HashMap::new(),
    };
    assert_eq!(failure.metadata, told, "{case}");
    assert_eq!(agent.version("c").await, before, "{case}");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_summaries() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let events = vec![user("2"), assistant("3"), summary(3, "They spoke.")];
    agent.append("c", events).await;
    let claiming = event(Fact::HistorySummarised(HistorySummarised {
        through_version: 4,
        text: "x".to_owned(),
        previous_version: 4,
        ..HistorySummarised::default()
    }));
    let invalid = |reason, field| (InvalidArgument, reason, field);
    let beyond = (FailedPrecondition, "SUMMARY_BEYOND_HISTORY", THROUGH);
    let stale = (FailedPrecondition, "SUMMARY_STALE", THROUGH);
    for (case, event, expected) in [
        ("of itself", summary(6, "x"), beyond),
        ("of what comes", summary(u64::MAX, "x"), beyond),
        ("of no more", summary(3, "x"), stale),
        ("of less", summary(1, "x"), stale),
        ("of nothing", summary(0, "x"), invalid("FIELD_MISSING", THROUGH)),
        ("with an empty text", summary(4, ""), invalid("FIELD_MISSING", TEXT)),
        ("with a long text", summary(4, "x".repeat(BYTES_MAX + 1)), invalid("FIELD_TOO_LONG", TEXT)),
        ("that names another", claiming, invalid("FIELD_MALFORMED", PREVIOUS)),
    ] {
        check(&agent, case, event, expected).await;
    }
    agent.try_archive(agent.target("c")).await.expect("archived");
    let archived = (FailedPrecondition, "CONVERSATION_ARCHIVED", "");
    check(&agent, "in the archive", summary(4, "x"), archived).await;
}

/// The summaries of a conversation, each with its version.
async fn summaries(agent: &Agent, target: ReadTarget) -> Vec<(u64, HistorySummarised)> {
    let request = ListEventsRequest {
        target: Some(target),
        kinds: vec![EventKind::HistorySummarised.into()],
        ..ListEventsRequest::default()
    };
    let events = agent.events(request).await.into_iter();
    events
        .map(|recorded| {
            let Fact::HistorySummarised(summary) = fact(&recorded) else {
                panic!("another kind was listed: {recorded:?}");
            };
            (recorded.version, summary.clone())
        })
        .collect()
}

fn stored_summary(through_version: u64, text: &str, previous_version: u64) -> HistorySummarised {
    HistorySummarised { through_version, text: text.to_owned(), model: String::new(), previous_version }
}

#[tokio::test(flavor = "multi_thread")]
async fn summaries_are_kept_in_rows_and_tail_alike() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![user("2"), summary(2, "a\0b")]).await;
    let longest = "é".repeat(BYTES_MAX / 2);
    let request = agent.append_request("c", vec![summary(3, longest.clone())]);
    let request = with(request, |request| {
        let key = uuid::Uuid::now_v7().to_string();
        request.target.as_mut().expect("a target").idempotency_key = key;
    });
    let first = agent.try_append(request.clone()).await.expect("a summary");
    let again = agent.try_append(request).await.expect("the first answer");
    check_replayed("a summary again", &again, &first);
    let expected = [(3, stored_summary(2, "a\0b", 0)), (4, stored_summary(3, &longest, 3))];
    assert_eq!(summaries(&agent, agent.read_target("c")).await, expected);
    agent.wait_for_rows("c", 4).await;
    assert_eq!(summaries(&agent, agent.eventual_target("c")).await, expected);
}
