//! The budget: included, omitted and cleared content, and contexts that do not fit.

use std::collections::BTreeSet;

use serde_json::json;
use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events::{assistant, call, user};
use tests::stack::Stack;
use tonic::Code::FailedPrecondition;
use wire::proto::event::v1::Event;
use wire::proto::read::v1::{LeftOut, LeftOutReason};

use super::{
    AssembledContext, FORMS, assemble, form_request, long_result, origins, policy_request, room, try_assemble, versions,
};
use crate::write::with;

const TOO_SMALL: (tonic::Code, &str, &str) = (FailedPrecondition, "BUDGET_TOO_SMALL", "");

/// The tokens of a policy that are not for turns.
fn fixed_tokens(context: &AssembledContext, context_tokens: u32) -> u32 {
    let room = context.receipt.tokens.expect("tokens").room;
    context_tokens - u32::try_from(room).expect("less than the context")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_turn_fits_to_the_token() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![user("old"), user(" word".repeat(300))]).await;
    let ample = assemble(&agent, policy_request(&agent, &room(10_000, json!({})))).await;
    let fixed = fixed_tokens(&ample, 10_000);
    let one = with(policy_request(&agent, &room(10_000, json!({}))), |request| {
        request.messages_max = 1;
    });
    let needed = assemble(&agent, one).await.receipt.tokens.expect("tokens").turns;
    let enough = fixed + u32::try_from(needed).expect("a few");
    let context = assemble(&agent, policy_request(&agent, &room(enough, json!({})))).await;
    assert_eq!(versions(&context), [3]);
    let tokens = context.receipt.tokens.expect("tokens");
    assert_eq!((tokens.turns, tokens.room), (needed, needed));
    let outcome = try_assemble(&agent, policy_request(&agent, &room(enough - 1, json!({})))).await;
    let failure = check_failure("a token less", outcome, TOO_SMALL);
    let message = format!("needs {needed} tokens, of {}", needed - 1);
    assert!(failure.message.contains(&message), "{}", failure.message);
}

/// A mark may be longer than its secret: a turn that only fits without marks does not fit, and is never sent without
/// them.
#[tokio::test(flavor = "multi_thread")]
async fn redaction_counts_too() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let secret = "password=hunter22 ".repeat(80);
    agent.append("c", vec![user("old"), user(secret)]).await;
    let policy = |context| room(context, json!({}));
    let plain = json!({"redact": {"rules": "none"}});
    let turns = |context: &AssembledContext| context.receipt.tokens.expect("tokens").turns;
    let one = with(policy_request(&agent, &plain), |request| {
        request.messages_max = 1;
    });
    let needed = turns(&assemble(&agent, one).await);
    let unmarked = assemble(&agent, policy_request(&agent, &plain)).await;
    let ample = assemble(&agent, policy_request(&agent, &policy(10_000))).await;
    assert_eq!(versions(&ample), [2, 3]);
    let marks = turns(&ample) - turns(&unmarked);
    assert!(marks > 0);
    let enough = u32::try_from(needed + marks).expect("a few") + fixed_tokens(&ample, 10_000);
    let outcome = try_assemble(&agent, policy_request(&agent, &policy(enough - 1))).await;
    check_failure("no room for the marks", outcome, TOO_SMALL);
    let context = assemble(&agent, policy_request(&agent, &policy(enough))).await;
    assert_eq!(versions(&context), [3]);
    assert_eq!(context.receipt.redactions[0].count, 80);
}

/// A model's limits fill missing numbers of a policy; the policy's numbers have precedence.
#[tokio::test(flavor = "multi_thread")]
async fn limits_of_models() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let given = json!({"context_tokens_max": 10_000, "reserved_tokens": 1_000});
    let reserved = json!({"context_tokens_max": 10_000});
    // The remaining tokens of `o200k_base`, and the tokens of the note about omitted turns.
    let note =
        119_808 - assemble(&agent, policy_request(&agent, &json!({}))).await.receipt.tokens.expect("tokens").room;
    assert!((1..64).contains(&note), "{note}");
    for (policy, available) in [
        (json!({"model": "llama3"}), 128_000 - 8_192),
        (json!({"model": "gpt-4"}), (8_192 - 2_048) * 100 / 120),
        (json!({"model": "openai/GPT-4o-mini"}), 128_000 - 8_192),
        (json!({"model": "claude-sonnet-4-5"}), (200_000 - 8_192) * 100 / 130),
        (json!({"budget": given.clone()}), 9_000),
        (json!({"budget": reserved}), 7_500),
        (json!({"model": "claude-sonnet-4-5", "budget": given}), 9_000 * 100 / 130),
    ] {
        let context = assemble(&agent, policy_request(&agent, &policy)).await;
        let room = context.receipt.tokens.expect("tokens").room;
        assert_eq!(room, available - note, "{policy}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn instructions_must_leave_room() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![user("hi")]).await;
    let long = json!({"instructions": " word".repeat(300)});
    for form in FORMS {
        let request = with(policy_request(&agent, &room(300, long.clone())), |request| {
            request.format = form.into();
        });
        check_failure("no room", try_assemble(&agent, request).await, TOO_SMALL);
    }
    assemble(&agent, policy_request(&agent, &room(400, long))).await;
}

/// Turns with two calls with results of this many tokens, between short turns.
fn turns(count: u64, tokens: usize) -> Vec<Event> {
    let turn = |number: u64| {
        let (one, two) = (format!("{number}a"), format!("{number}b"));
        vec![
            user(number.to_string()),
            call(&one, "{}"),
            call(&two, "{}"),
            long_result(&two, tokens),
            long_result(&one, tokens),
        ]
    };
    (0..count).flat_map(turn).collect()
}

/// Turns are never cut: the included turns are the newest ones, equal to those without a limit.
#[tokio::test(flavor = "multi_thread")]
async fn turns_are_whole_at_every_budget() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", turns(6, 50)).await;
    agent.append("c", vec![assistant("done")]).await;
    let whole = assemble(&agent, policy_request(&agent, &json!({}))).await;
    let all = whole.body["turns"].as_array().expect("turns");
    assert_eq!((all.len(), whole.receipt.left_out), (13, None));
    let mut lengths = BTreeSet::new();
    for context_tokens in (256..2_400).step_by(67) {
        let context = assemble(&agent, policy_request(&agent, &room(context_tokens, json!({})))).await;
        let kept = context.body["turns"].as_array().expect("turns");
        assert!(all.ends_with(kept), "{context_tokens}");
        let left_out = context.receipt.left_out;
        if kept.len() == all.len() {
            assert_eq!((left_out, &context.body["opening"]), (None, &json!(null)));
        } else {
            let left_out = left_out.expect("something left out");
            let first = kept[0]["version"].as_u64().expect("a version");
            assert_eq!(left_out.before_version, first, "{context_tokens}");
            assert_eq!(left_out.reason(), LeftOutReason::Budget, "{context_tokens}");
            let opening = context.body["opening"].as_str().expect("an opening");
            assert!(opening.contains("left out"), "{opening}");
            let rest = whole.receipt.tokens.expect("tokens").turns - left_out.tokens;
            assert_eq!(context.receipt.tokens.expect("tokens").turns, rest, "{context_tokens}");
        }
        lengths.insert(kept.len());
    }
    assert!(lengths.len() > 4, "{lengths:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn message_limits_omit_turns() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![user("2"), user("3"), user("4")]).await;
    let context = assemble(&agent, with(form_request(&agent, FORMS[0]), |r| r.messages_max = 2)).await;
    assert_eq!(versions(&context), [3, 4]);
    let left_out = context.receipt.left_out.expect("something left out");
    let expected = LeftOut { before_version: 3, tokens: left_out.tokens, reason: LeftOutReason::Bound.into() };
    assert_eq!(left_out, expected);
    assert!(left_out.tokens > 0);
    let context = assemble(&agent, with(form_request(&agent, FORMS[0]), |r| r.messages_max = 3)).await;
    assert_eq!(context.receipt.left_out, None);
}

/// The versions of the cleared results in a receipt.
async fn cleared_versions(agent: &Agent, clear: serde_json::Value) -> Vec<u64> {
    let mut policy = room(3_000, json!({"clear": clear}));
    policy["budget"]["low_water_percent"] = json!(70);
    let context = assemble(agent, policy_request(agent, &policy)).await;
    let listed = &context.receipt.cleared;
    let stubs = origins(&context).into_iter().filter(|call| call.ends_with("=cleared"));
    let named: BTreeSet<String> = listed.iter().map(|c| format!("{}=cleared", c.call_id)).collect();
    assert_eq!(stubs.collect::<BTreeSet<_>>(), named);
    let text = String::from_utf8_lossy(&context.bytes);
    assert_eq!(text.matches("This result was cleared").count(), listed.len());
    assert!(listed.iter().all(|result| result.tokens >= 100), "{listed:?}");
    listed.iter().map(|result| result.version).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn old_results_are_cleared_and_listed() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", turns(5, 200)).await;
    // Ordered by the version of the call: the results are in another order.
    let fresh = json!({"fresh_percent": 60});
    assert_eq!(cleared_versions(&agent, fresh).await, [6, 5, 11, 10, 15]);
    assert_eq!(cleared_versions(&agent, json!({"fresh_percent": 99})).await, [0; 0]);
    assert_eq!(cleared_versions(&agent, json!({"result_tokens_min": 1_000})).await, [0; 0]);
    assert_eq!(cleared_versions(&agent, json!({"keep_tools": ["search"]})).await, [0; 0]);
}
