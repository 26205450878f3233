//! Summaries replace the covered events: the newest one at or before the version, unless the policy uses none.

use serde_json::json;
use tests::agent::Agent;
use tests::events::{assistant, summary, user};
use tests::stack::{Setup, Stack};
use wire::proto::event::v1::Event;
use wire::proto::read::v1::AssembleContextRequest;

use super::{assemble, policy_request, versions};
use crate::write::with;

/// The opening, the covered version, the summary's version, and the remaining turns.
type ExpectedSummary = (Option<&'static str>, u64, u64, &'static [u64]);

/// Versions 2 to 10.
fn history() -> Vec<Event> {
    vec![
        user("2"),
        assistant("3"),
        summary(3, "First."),
        user("5"),
        assistant("6"),
        summary(5, "Second."),
        user("8"),
        assistant("9"),
    ]
}

#[rustfmt::skip]
const EXPECTED: [(u64, ExpectedSummary); 8] = [
    (1, (None, 0, 0, &[])),
    (2, (None, 0, 0, &[2])),
    (3, (None, 0, 0, &[2, 3])),
    (4, (Some("First."), 3, 4, &[])),
    (6, (Some("First."), 3, 4, &[5, 6])),
    (7, (Some("Second."), 5, 7, &[6])),
    (9, (Some("Second."), 5, 7, &[6, 8, 9])),
    (0, (Some("Second."), 5, 7, &[6, 8, 9])),
];

async fn check(agent: &Agent, request: AssembleContextRequest, expected: ExpectedSummary) {
    let case = request.at_version;
    let context = assemble(agent, request).await;
    let (text, through, version, turns) = expected;
    let opening = text.map(|text| format!("[Summary of the conversation so far]\n{text}"));
    assert_eq!(context.body["opening"], json!(opening), "{case}");
    let receipt = &context.receipt;
    assert_eq!(receipt.summarised_through, through, "{case}");
    assert_eq!(receipt.epoch.expect("an epoch").summary_version, version, "{case}");
    assert_eq!(receipt.left_out, None, "{case}");
    assert_eq!(versions(&context), turns, "{case}");
    assert_eq!(receipt.tokens.expect("tokens").opening > 0, text.is_some(), "{case}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_summary_at_or_before_the_version() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    stack.projector.stop().await;
    agent.create("c").await;
    for event in history() {
        agent.append("c", vec![event]).await;
    }
    for projected in [false, true] {
        if projected {
            stack.projector.start().await;
            agent.wait_for_rows("c", 9).await;
        }
        for (version, expected) in EXPECTED {
            let request = with(policy_request(&agent, &json!({})), |request| {
                request.at_version = version;
            });
            check(&agent, request, expected).await;
        }
        let none = json!({"summary": "none"});
        check(&agent, policy_request(&agent, &none), (None, 0, 0, &[2, 3, 5, 6, 8, 9])).await;
    }
}

/// When the summary is older than the first turn in the budget, the opening contains it and a note about omitted turns.
#[tokio::test(flavor = "multi_thread")]
async fn gaps_after_summaries_are_reported() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![user("2"), summary(2, "First."), user("4"), user("5"), user("6")]).await;
    let request = with(policy_request(&agent, &json!({})), |request| {
        request.messages_max = 2;
    });
    let context = assemble(&agent, request).await;
    assert_eq!(versions(&context), [5, 6]);
    let opening = context.body["opening"].as_str().expect("an opening");
    assert!(opening.contains("First.") && opening.contains("are left out"), "{opening}");
    let left_out = context.receipt.left_out.expect("something left out");
    assert_eq!(left_out.before_version, 5);
}
