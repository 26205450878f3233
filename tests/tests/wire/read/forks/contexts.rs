//! The context of a fork is that of one history: as if the same events had been appended to one conversation.

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::stack::Setup;
use wire::proto::read::v1::assemble_context_request::Policy;
use wire::proto::read::v1::{AssembleContextRequest, ContextFormat, Receipt};

use super::tree::{Dice, Node, twin};

/// Trees that are grown, each with a stack of its own.
const TREES: u64 = 4;
/// Forks of a tree.
const FORKS: usize = 6;
/// Most events that a node gets at a time.
const EVENTS_MAX: usize = 14;

/// What is not said alike of a fork and of its twin: their names, and at which version a call was given up.
fn comparable(receipt: Option<Receipt>) -> Receipt {
    let mut receipt = receipt.expect("a receipt");
    receipt.conversation_id.clear();
    receipt.body_sha256 = Vec::new().into();
    if let Some(epoch) = &mut receipt.epoch {
        epoch.revised_version = 0;
    }
    receipt
}

async fn made(agent: &Agent, id: &str, request: &AssembleContextRequest) -> (Value, Receipt) {
    let request = AssembleContextRequest {
        target: Some(agent.read_target(id)),
        ..request.clone()
    };
    let answer = agent.caller().read().assemble_context(request).await;
    let context = answer.unwrap_or_else(|status| panic!("{id}: {status:?}"));
    let context = context.into_inner();
    let mut body: Value = serde_json::from_slice(&context.body).expect("JSON");
    if let Some(body) = body.as_object_mut() {
        body.remove("prompt_cache_key");
    }
    (body, comparable(context.receipt))
}

fn requests(at_version: u64) -> Vec<AssembleContextRequest> {
    let tight = json!({
        "budget": {"context_tokens_max": 420, "reserved_tokens": 0},
        "clear": {"fresh_percent": 40, "result_tokens_min": 97},
    });
    let request = |form: ContextFormat, policy: &Value, messages_max| AssembleContextRequest {
        format: form.into(),
        policy: Some(Policy::PolicyJson(policy.to_string())),
        at_version,
        messages_max,
        ..AssembleContextRequest::default()
    };
    vec![
        request(ContextFormat::Canonical, &json!({}), 0),
        request(ContextFormat::Canonical, &json!({"summary": "none"}), 0),
        request(ContextFormat::Canonical, &tight, 0),
        request(ContextFormat::Canonical, &json!({"summary": "none"}), 3),
        request(ContextFormat::OpenaiResponses, &json!({}), 0),
        request(ContextFormat::Anthropic, &json!({}), 4),
    ]
}

async fn check(agent: &Agent, node: &Node, twin: &str, versions: &[u64]) {
    for version in versions {
        for request in requests(*version) {
            let fork = made(agent, &node.id, &request).await;
            let direct = made(agent, twin, &request).await;
            assert_eq!(fork, direct, "{node:?} {request:?}");
        }
    }
    for messages_max in [1, 4, 50] {
        let fork = agent.context(&node.id, messages_max).await;
        let direct = agent.context(twin, messages_max).await;
        assert_eq!(fork.messages, direct.messages, "{node:?} {messages_max}");
        let (fork, direct) = (fork.report.expect("it"), direct.report.expect("it"));
        assert_eq!(
            (fork.truncated, fork.first_version),
            (direct.truncated, direct.first_version)
        );
        let events = |report: &wire::proto::read::v1::ContextReport| {
            report.events_from_rows + report.events_from_tail
        };
        assert_eq!(events(&fork), events(&direct));
    }
}

async fn check_tree(seed: u64) {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let mut dice = Dice::new(seed);
    if seed.is_multiple_of(2) {
        stack.projector.stop().await;
    }
    let mut nodes = vec![dice.root(&agent).await];
    dice.grow(&agent, &mut nodes[0], EVENTS_MAX).await;
    if stack.projector.is_started() {
        // Its rows are there, those of its forks are not.
        agent.projected(&nodes[0].id, nodes[0].version()).await;
        stack.projector.stop().await;
    }
    for _ in 0..FORKS {
        let mut node = dice.fork(&agent, &nodes).await;
        dice.grow(&agent, &mut node, EVENTS_MAX).await;
        nodes.push(node);
    }
    // Whatever comes later of the others is none of a fork's business.
    for node in &mut nodes {
        dice.grow(&agent, node, 3).await;
    }
    let mut pairs = Vec::new();
    for node in nodes.split_off(1) {
        let twin = twin(&agent, &node).await;
        let versions = [0, dice.version(&node), dice.version(&node)];
        pairs.push((node, twin, versions));
    }
    for (node, twin, versions) in &pairs {
        check(&agent, node, twin, versions).await;
    }
    stack.projector.start().await;
    for (node, twin, versions) in &pairs {
        agent.projected(&node.id, node.version()).await;
        agent.projected(twin, node.version()).await;
        check(&agent, node, twin, versions).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_context_of_a_fork_is_that_of_one_history() {
    futures::future::join_all((0..TREES).map(check_tree)).await;
}
