//! The context of a fork equals the context of one conversation with the same events.

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::stack::Setup;
use wire::proto::read::v1::assemble_context_request::Policy;
use wire::proto::read::v1::{AssembleContextRequest, ContextFormat, Receipt};

use super::tree::{Generator, Node, twin};

/// Random trees, each with its own stack.
const TREES: u64 = 4;
/// Forks of a tree.
const FORKS: usize = 6;
/// The maximum number of events that a node gets at a time.
const EVENTS_MAX: usize = 14;

/// Removes what differs between a fork and its twin: names, and versions of interrupted calls.
fn comparable(receipt: Option<Receipt>) -> Receipt {
    let mut receipt = receipt.expect("a receipt");
    receipt.conversation_id.clear();
    receipt.body_sha256 = Vec::new().into();
    if let Some(epoch) = &mut receipt.epoch {
        epoch.revised_version = 0;
    }
    receipt
}

async fn assemble(agent: &Agent, id: &str, request: &AssembleContextRequest) -> (Value, Receipt) {
    let request = AssembleContextRequest { target: Some(agent.read_target(id)), ..request.clone() };
    let answer = agent.caller().read().assemble_context(request).await;
    let context = answer.unwrap_or_else(|status| panic!("{id}: {status:?}")).into_inner();
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
            let fork = assemble(agent, &node.id, &request).await;
            let direct = assemble(agent, twin, &request).await;
            assert_eq!(fork, direct, "{node:?} {request:?}");
        }
    }
    for messages_max in [1, 4, 50] {
        let fork = agent.context(&node.id, messages_max).await;
        let direct = agent.context(twin, messages_max).await;
        assert_eq!(fork.messages, direct.messages, "{node:?} {messages_max}");
        let (fork, direct) = (fork.report.expect("it"), direct.report.expect("it"));
        assert_eq!((fork.truncated, fork.first_version), (direct.truncated, direct.first_version));
        let events = |report: &wire::proto::read::v1::ContextReport| report.events_from_rows + report.events_from_tail;
        assert_eq!(events(&fork), events(&direct));
    }
}

async fn check_tree(seed: u64) {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let mut generator = Generator::new(seed);
    if seed.is_multiple_of(2) {
        stack.projector.stop().await;
    }
    let mut nodes = vec![generator.root(&agent).await];
    generator.grow(&agent, &mut nodes[0], EVENTS_MAX).await;
    if stack.projector.is_started() {
        // Its rows exist, those of its forks do not.
        agent.wait_for_rows(&nodes[0].id, nodes[0].version()).await;
        stack.projector.stop().await;
    }
    for _ in 0..FORKS {
        let mut node = generator.fork(&agent, &nodes).await;
        generator.grow(&agent, &mut node, EVENTS_MAX).await;
        nodes.push(node);
    }
    // Later events of other conversations do not affect a fork.
    for node in &mut nodes {
        generator.grow(&agent, node, 3).await;
    }
    let mut pairs = Vec::new();
    for node in nodes.split_off(1) {
        let twin = twin(&agent, &node).await;
        let versions = [0, generator.version(&node), generator.version(&node)];
        pairs.push((node, twin, versions));
    }
    for (node, twin, versions) in &pairs {
        check(&agent, node, twin, versions).await;
    }
    stack.projector.start().await;
    for (node, twin, versions) in &pairs {
        agent.wait_for_rows(&node.id, node.version()).await;
        agent.wait_for_rows(twin, node.version()).await;
        check(&agent, node, twin, versions).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fork_contexts_equal_contexts_of_one_history() {
    futures::future::join_all((0..TREES).map(check_tree)).await;
}
