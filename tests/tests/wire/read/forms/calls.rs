//! Calls without a result: known to the caller, honest to the model, and mended by a result that comes late.

use serde_json::json;
use tests::agent::Agent;
use tests::events::{assistant, call, result, user};
use tests::stack::Setup;
use wire::proto::event::v1::Event;

use super::{FORMS, ask, made, origins};

const PENDING: &str = "this tool call is still waiting";
const INTERRUPTED: &str = "this tool call was interrupted";

/// What the receipt must tell, and where the answers come from.
struct Told {
    pending: &'static [&'static str],
    interrupted: &'static [&'static str],
    origins: &'static [&'static str],
    revised: u64,
}

/// Each step: what is appended, and what then must be told.
fn steps() -> Vec<(Vec<Event>, Told)> {
    let told = |pending, interrupted, origins, revised| Told {
        pending,
        interrupted,
        origins,
        revised,
    };
    vec![
        (
            vec![user("find"), call("a", "{}"), call("b", "{}")],
            told(&["a", "b"], &[], &["a=pending", "b=pending"], 0),
        ),
        (
            vec![result("b", "1")],
            told(&["a"], &[], &["a=pending", "b=recorded"], 0),
        ),
        (
            vec![user("and?")],
            told(&["a"], &[], &["a=pending", "b=recorded"], 0),
        ),
        (
            vec![assistant("never mind")],
            told(&[], &["a"], &["a=interrupted", "b=recorded"], 7),
        ),
        (
            vec![user("well")],
            told(&[], &["a"], &["a=interrupted", "b=recorded"], 7),
        ),
        (
            vec![result("a", "2")],
            told(&[], &[], &["a=recorded", "b=recorded"], 9),
        ),
        (
            vec![call("c", "{}"), result("c", "3")],
            told(&[], &[], &["a=recorded", "b=recorded", "c=recorded"], 9),
        ),
    ]
}

async fn check(agent: &Agent, expected: &Told) {
    for form in FORMS {
        let context = made(agent, ask(agent, form)).await;
        let receipt = &context.receipt;
        let case = format!("version {}, {form:?}", receipt.version);
        assert_eq!(receipt.pending_call_ids, expected.pending, "{case}");
        assert_eq!(receipt.interrupted_call_ids, expected.interrupted, "{case}");
        let epoch = receipt.epoch.expect("an epoch");
        assert_eq!(
            (epoch.first_version, epoch.revised_version),
            (2, expected.revised),
            "{case}"
        );
        let text = String::from_utf8(context.bytes.clone()).expect("text");
        let notes = |note: &str| text.matches(note).count();
        assert_eq!(notes(PENDING), expected.pending.len(), "{case}: {text}");
        assert_eq!(
            notes(INTERRUPTED),
            expected.interrupted.len(),
            "{case}: {text}"
        );
        if form == FORMS[0] {
            assert_eq!(origins(&context), expected.origins, "{case}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_wait_are_left_or_are_answered_late() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    for (events, told) in steps() {
        agent.append("c", events).await;
        check(&agent, &told).await;
    }
}

/// A save path that writes everything twice: the second time is left out, and listed.
#[tokio::test(flavor = "multi_thread")]
async fn what_stands_twice_goes_in_once() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let pair = || vec![call("a", "{}"), result("a", "1")];
    agent
        .append("c", [vec![user("find")], pair(), pair()].concat())
        .await;
    let context = made(&agent, ask(&agent, FORMS[0])).await;
    assert_eq!(origins(&context), ["a=recorded"]);
    assert_eq!(context.receipt.repeated_versions, [5]);
}

/// Models without tools read a digest of the results, which is the end of the context.
#[tokio::test(flavor = "multi_thread")]
async fn a_digest_of_results_stands_at_the_end() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let events = vec![
        user("find"),
        call("a", "{}"),
        result("a", r#""a needle""#),
        user("so?"),
    ];
    agent.append("c", events).await;
    let context = made(&agent, super::under(&agent, &json!({"tool_digest": {}}))).await;
    assert_eq!(origins(&context), [""; 0]);
    let closing = context.body["closing"].as_str().expect("a closing");
    assert!(closing.contains("a needle"), "{closing}");
    let tokens = context.receipt.tokens.expect("tokens");
    assert!(tokens.closing > 0, "{tokens:?}");
}
