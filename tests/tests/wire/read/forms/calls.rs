//! Calls without a result: listed in the receipt, marked for the model, and replaced by a late result.

use std::borrow::Cow;

use domain::surrogates::without_unpaired;
use serde_json::json;
use tests::agent::Agent;
use tests::events::{assistant, call, result, user};
use tests::stack::Stack;
use wire::proto::event::v1::Event;
use wire::proto::event::v1::event::Fact;

use super::{FORMS, assemble, form_request, origins};

const PENDING: &str = "this tool call is still waiting";
const INTERRUPTED: &str = "this tool call was interrupted";

/// The expected calls in the receipt, and the sources of their results.
struct ExpectedCalls {
    pending: &'static [&'static str],
    interrupted: &'static [&'static str],
    origins: &'static [&'static str],
    revised: u64,
}

/// Each step: the appended events, and the expected calls.
fn steps() -> Vec<(Vec<Event>, ExpectedCalls)> {
    let expected = |pending, interrupted, origins, revised| ExpectedCalls { pending, interrupted, origins, revised };
    vec![
        (
            vec![user("find"), call("a", "{}"), call("b", "{}")],
            expected(&["a", "b"], &[], &["a=pending", "b=pending"], 0),
        ),
        (vec![result("b", "1")], expected(&["a"], &[], &["a=pending", "b=recorded"], 0)),
        (vec![user("and?")], expected(&["a"], &[], &["a=pending", "b=recorded"], 0)),
        (vec![assistant("never mind")], expected(&[], &["a"], &["a=interrupted", "b=recorded"], 7)),
        (vec![user("well")], expected(&[], &["a"], &["a=interrupted", "b=recorded"], 7)),
        (vec![result("a", "2")], expected(&[], &[], &["a=recorded", "b=recorded"], 9)),
        (vec![call("c", "{}"), result("c", "3")], expected(&[], &[], &["a=recorded", "b=recorded", "c=recorded"], 9)),
    ]
}

async fn check(agent: &Agent, expected: &ExpectedCalls) {
    for form in FORMS {
        let context = assemble(agent, form_request(agent, form)).await;
        let receipt = &context.receipt;
        let case = format!("version {}, {form:?}", receipt.version);
        assert_eq!(receipt.pending_call_ids, expected.pending, "{case}");
        assert_eq!(receipt.interrupted_call_ids, expected.interrupted, "{case}");
        let epoch = receipt.epoch.expect("an epoch");
        assert_eq!((epoch.first_version, epoch.revised_version), (2, expected.revised), "{case}");
        let text = String::from_utf8(context.bytes.clone()).expect("text");
        let notes = |note: &str| text.matches(note).count();
        assert_eq!(notes(PENDING), expected.pending.len(), "{case}: {text}");
        assert_eq!(notes(INTERRUPTED), expected.interrupted.len(), "{case}: {text}");
        if form == FORMS[0] {
            assert_eq!(origins(&context), expected.origins, "{case}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_calls_are_omitted_or_answered_late() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    for (events, expected) in steps() {
        agent.append("c", events).await;
        check(&agent, &expected).await;
    }
}

/// An agent polls: equal calls with equal results are as many calls as were made.
#[tokio::test(flavor = "multi_thread")]
async fn equal_calls_are_different_calls() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let pair = || vec![call("a", "{}"), result("a", "1")];
    agent.append("c", [vec![user("find")], pair(), pair()].concat()).await;
    let context = assemble(&agent, form_request(&agent, FORMS[0])).await;
    assert_eq!(origins(&context), ["a=recorded", "a=recorded"]);
}

/// A server may give each response the same id: two equal answers are two answers.
#[tokio::test(flavor = "multi_thread")]
async fn equal_answers_with_one_response_id_are_both_read() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let done = || {
        let mut message = assistant("Done.");
        if let Some(Fact::MessageAppended(appended)) = &mut message.fact {
            appended.provider_response_id = "chatcmpl-A1".to_owned();
        }
        message
    };
    agent.append("c", vec![user("Delete one."), done(), user("Delete two."), done(), user("What?")]).await;
    for form in FORMS {
        let context = assemble(&agent, form_request(&agent, form)).await;
        let text = String::from_utf8(context.bytes).expect("text");
        assert_eq!(text.matches("Done.").count(), 2, "{form:?}: {text}");
    }
}

/// A program cut a text inside of a character, and a model sends it on as the input of a call.
#[tokio::test(flavor = "multi_thread")]
async fn no_body_has_half_of_a_surrogate_pair() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let half = r#"{"text": "\ud83d", "\ude00": ["\ud83d\ude00"]}"#;
    agent.append("c", vec![user("cut"), call("a", half), result("a", half), user("and?")]).await;
    for form in FORMS {
        let context = assemble(&agent, form_request(&agent, form)).await;
        assert!(matches!(without_unpaired(&context.bytes), Cow::Borrowed(_)), "{form:?}: {}", context.body);
        let text = String::from_utf8(context.bytes).expect("text");
        assert!(
            text.contains("ufffd") && text.contains(r"ud83d\ude00") || text.contains(r"ud83d\\ude00"),
            "{form:?}: {text}"
        );
    }
}

/// Models without tools get a digest of the results at the end of the context.
#[tokio::test(flavor = "multi_thread")]
async fn the_digest_of_results_is_last() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let events = vec![user("find"), call("a", "{}"), result("a", r#""a needle""#), user("so?")];
    agent.append("c", events).await;
    let context = assemble(&agent, super::policy_request(&agent, &json!({"tool_digest": {}}))).await;
    assert_eq!(origins(&context), [""; 0]);
    let closing = context.body["closing"].as_str().expect("a closing");
    assert!(closing.contains("a needle"), "{closing}");
    let tokens = context.receipt.tokens.expect("tokens");
    assert!(tokens.closing > 0, "{tokens:?}");
}
