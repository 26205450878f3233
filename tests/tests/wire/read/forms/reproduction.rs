//! A context can be reproduced: at every version, in every form, from rows or tail, and after later events.

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::events::{assistant, call, note, result, summary, user};
use tests::stack::{Setup, Stack};
use wire::proto::event::v1::Event;
use wire::proto::read::v1::AssembleContextRequest;

use super::{AssembledContext, FORMS, assemble, form_request, long_result, receipt_request, room, set_policy};
use crate::read::forks::fork;

/// One commit each; with everything that changes contexts over time.
fn history() -> Vec<Vec<Event>> {
    vec![
        vec![user("one"), note("unseen"), assistant("two")],
        vec![user("find"), call("a", "{}"), call("late", "{}")],
        vec![long_result("a", 200)],
        vec![user("go on"), assistant("without it")],
        vec![result("late", r#"{"api_key": "k-1"}"#)],
        vec![user("what was first?"), assistant("one")],
        vec![summary(4, "They counted.")],
        vec![call("b", "{}"), long_result("b", 250), assistant("three")],
        vec![user("four"), summary(12, "They counted and searched."), assistant("five")],
    ]
}

/// A small budget: results are cleared, turns omitted, and the first turn moves as the conversation grows.
fn policy() -> Value {
    let settings = json!({
        "instructions": "Serve {{ locale }}.",
        "clear": {"fresh_percent": 60, "result_tokens_min": 97},
        "redact": {"patterns": ["without"]},
    });
    let mut policy = room(900, settings);
    policy["budget"]["low_water_percent"] = json!(70);
    policy
}

/// Every context of the newest version.
async fn contexts(agent: &Agent) -> Vec<AssembledContext> {
    let mut contexts = Vec::new();
    for form in FORMS {
        contexts.push(assemble(agent, form_request(agent, form)).await);
    }
    contexts
}

async fn check(agent: &Agent, contexts: &[AssembledContext], when: &str) {
    for context in contexts {
        let again = assemble(agent, receipt_request(agent, &context.receipt)).await;
        let (version, form) = (context.receipt.version, context.receipt.format());
        assert_eq!(again, *context, "{when}: version {version}, {form:?}");
    }
}

async fn project(stack: &mut Stack, agent: &Agent) {
    let version = agent.version("c").await;
    stack.projector.start().await;
    agent.wait_for_rows("c", version).await;
    stack.projector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_version_in_every_form() {
    let mut stack = Setup::tasks().start().await;
    stack.projector.stop().await;
    let operator = stack.operator().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    set_policy(&operator, &agent, &policy()).await;
    let mut before = contexts(&agent).await;
    let half = history().len() / 2;
    for (index, events) in history().into_iter().enumerate() {
        agent.append("c", events).await;
        before.extend(contexts(&agent).await);
        if index == half {
            check(&agent, &before, "by the tail").await;
            project(&mut stack, &agent).await;
        }
    }
    let check_any = |condition: fn(&AssembledContext) -> bool| {
        assert!(before.iter().any(condition), "the history covers it");
    };
    check_any(|context| context.receipt.left_out.is_some());
    check_any(|context| !context.receipt.cleared.is_empty());
    check_any(|context| !context.receipt.redactions.is_empty());
    check_any(|context| context.receipt.summarised_through == 4);
    check_any(|context| context.receipt.summarised_through == 12);
    check_any(|context| context.receipt.pending_call_ids == ["late"]);
    check_any(|context| context.receipt.interrupted_call_ids == ["late"]);
    let epochs = before.iter().map(|context| context.receipt.epoch.expect("an epoch"));
    assert!(epochs.max_by_key(|epoch| epoch.revised_version).expect("one").revised_version > 0);
    check(&agent, &before, "by rows and tail").await;
    set_policy(&operator, &agent, &json!({"instructions": "Another."})).await;
    check(&agent, &before, "after the agent's policy was changed").await;
    project(&mut stack, &agent).await;
    check(&agent, &before, "by the rows").await;
    // The gateway's memory is not needed.
    stack.gateway.stop().await;
    stack.gateway.start().await;
    check(&agent, &before, "by another gateway").await;
}

/// Contexts of every version from the second on.
async fn contexts_at_each_version(agent: &Agent) -> Vec<AssembledContext> {
    let mut contexts = Vec::new();
    for at_version in 2..=agent.version("c").await {
        for form in FORMS {
            let request = AssembleContextRequest { at_version, ..form_request(agent, form) };
            contexts.push(assemble(agent, request).await);
        }
    }
    contexts
}

/// A fork has its parent's versions and its own, independent of later events of the parent.
#[tokio::test(flavor = "multi_thread")]
async fn before_and_after_the_fork() {
    let mut stack = Setup::tasks().start().await;
    stack.projector.stop().await;
    let operator = stack.operator().await;
    let agent = stack.any_agent().await;
    agent.create("root").await;
    for events in history().into_iter().take(3) {
        agent.append("root", events).await;
    }
    // The call `late` is pending there: later the parent has its result, the fork does not.
    let shared = agent.version("root").await;
    fork(&agent, "c", "root", shared).await;
    set_policy(&operator, &agent, &policy()).await;
    agent.append("c", vec![summary(4, "They counted.")]).await;
    let own = [call("b", "{}"), long_result("b", 400), assistant("three")];
    agent.append("c", own.to_vec()).await;
    agent.append("c", vec![user("four")]).await;
    let before = contexts_at_each_version(&agent).await;
    let check_any = |condition: fn(&AssembledContext) -> bool| {
        assert!(before.iter().any(condition), "the history covers it");
    };
    check_any(|context| !context.receipt.cleared.is_empty());
    check_any(|context| context.receipt.summarised_through == 4);
    check_any(|context| context.receipt.pending_call_ids.contains(&"late".to_owned()));
    check_any(|context| context.receipt.interrupted_call_ids == ["late"]);
    let late = vec![result("late", r#"{"found": 1}"#), assistant("found")];
    agent.append("root", late).await;
    agent.append("c", vec![assistant("five"), user("six")]).await;
    check(&agent, &before, "by the tails").await;
    let version = agent.version("root").await;
    stack.projector.start().await;
    agent.wait_for_rows("root", version).await;
    stack.projector.stop().await;
    check(&agent, &before, "by the parent's rows").await;
    project(&mut stack, &agent).await;
    check(&agent, &before, "by the rows of both").await;
}

/// Most agents have no policy; the default policy has a digest, too.
#[tokio::test(flavor = "multi_thread")]
async fn under_the_default_policy() {
    let stack = Stack::shared().await;
    let operator = stack.operator().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![user("one"), assistant("two")]).await;
    let before = contexts(&agent).await;
    agent.append("c", vec![user("three")]).await;
    check(&agent, &before, "without a policy").await;
    set_policy(&operator, &agent, &json!({"instructions": "Another."})).await;
    check(&agent, &before, "with one").await;
}

/// The message limit is a part of the request and of the receipt.
#[tokio::test(flavor = "multi_thread")]
async fn with_a_count_of_messages() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", (0..20).map(|n| user(n.to_string())).collect()).await;
    let mut request = form_request(&agent, FORMS[0]);
    request.messages_max = 5;
    let before = [assemble(&agent, request).await];
    assert_eq!(super::versions(&before[0]), [17, 18, 19, 20, 21]);
    agent.append("c", (20..40).map(|n| user(n.to_string())).collect()).await;
    check(&agent, &before, "five of twenty").await;
}
