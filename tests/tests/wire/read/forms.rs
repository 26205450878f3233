//! `AssembleContext` in a form: the body, its receipt, and the effects of a policy.

mod bad_fields;
mod bodies;
mod budget;
mod calls;
mod client_context;
mod names;
mod own_instructions;
mod policies;
mod prefix;
mod reproduction;
mod secrets;
mod statuses;
mod summaries;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tests::agent::Agent;
use tests::events::result;
use tests::eventually::eventually;
use tonic::Status;
use wire::proto::event::v1::Event;
use wire::proto::operate::v1::SetContextPolicyRequest;
use wire::proto::read::v1::assemble_context_request::Policy;
use wire::proto::read::v1::{AssembleContextRequest, AssembleContextResponse, ContextFormat, Receipt};

/// Every form.
const FORMS: [ContextFormat; 6] = [
    ContextFormat::Canonical,
    ContextFormat::OpenaiChat,
    ContextFormat::OpenaiResponses,
    ContextFormat::Anthropic,
    ContextFormat::Gemini,
    ContextFormat::Ollama,
];

/// An assembled context: its body as sent, and as JSON.
#[derive(Debug, Clone, PartialEq)]
struct AssembledContext {
    bytes: Vec<u8>,
    body: Value,
    receipt: Receipt,
}

/// A request for the conversation `c` in a form, with the agent's policy.
fn form_request(agent: &Agent, form: ContextFormat) -> AssembleContextRequest {
    AssembleContextRequest {
        target: Some(agent.read_target("c")),
        format: form.into(),
        ..AssembleContextRequest::default()
    }
}

/// A request in the canonical form, with this policy.
fn policy_request(agent: &Agent, policy: &Value) -> AssembleContextRequest {
    AssembleContextRequest {
        policy: Some(Policy::PolicyJson(policy.to_string())),
        ..form_request(agent, ContextFormat::Canonical)
    }
}

/// The request of a receipt: its version and policy.
fn receipt_request(agent: &Agent, receipt: &Receipt) -> AssembleContextRequest {
    AssembleContextRequest {
        at_version: receipt.version,
        policy: Some(Policy::PolicyDigest(receipt.policy_digest.clone())),
        messages_max: receipt.messages_max,
        render: receipt.render,
        ..form_request(agent, receipt.format())
    }
}

async fn try_assemble(agent: &Agent, request: AssembleContextRequest) -> Result<AssembleContextResponse, Status> {
    let answer = agent.caller().read().assemble_context(request).await?;
    Ok(answer.into_inner())
}

/// Assembles a context, and checks that its receipt matches the body and the request.
async fn assemble(agent: &Agent, request: AssembleContextRequest) -> AssembledContext {
    let context = try_assemble(agent, request.clone()).await.unwrap_or_else(|status| panic!("{request:?}: {status:?}"));
    let receipt = context.receipt.expect("a receipt");
    let bytes = context.body.to_vec();
    assert_eq!(receipt.body_sha256.to_vec(), Sha256::digest(&bytes).to_vec());
    assert_eq!(u64::try_from(bytes.len()), Ok(receipt.body_bytes));
    assert_eq!(receipt.conversation_id, "c");
    assert_eq!(receipt.agent_id, agent.id());
    assert_eq!(receipt.version, context.version);
    assert_eq!(receipt.format, request.format);
    assert_eq!(receipt.messages_max, request.messages_max);
    assert!(request.at_version == 0 || request.at_version == receipt.version);
    let tokens = receipt.tokens.expect("tokens");
    assert!(tokens.turns <= tokens.room, "{tokens:?}");
    assert!(context.messages.is_empty() && context.report.is_none());
    assert!(!context.position_token.is_empty());
    let body = serde_json::from_slice(&bytes).expect("JSON");
    AssembledContext { bytes, body, receipt }
}

/// Sets the policy of an agent with the conversation `c`; returns its digest.
async fn set_policy(operator: &tests::operator::Operator, agent: &Agent, policy: &Value) -> Vec<u8> {
    let request = SetContextPolicyRequest { agent_id: agent.id().to_owned(), policy_json: policy.to_string() };
    let set = operator.registry().set_context_policy(request).await;
    let policy = set.expect("a policy").into_inner().policy;
    let digest = policy.expect("a policy").digest;
    // The gateway applies it after a moment.
    eventually("the policy at the gateway", async || {
        let context = try_assemble(agent, form_request(agent, ContextFormat::Canonical)).await;
        let receipt = context.ok()?.receipt?;
        (receipt.policy_digest == digest).then_some(())
    })
    .await;
    digest.to_vec()
}

/// The versions of the turns of a canonical body.
fn versions(context: &AssembledContext) -> Vec<u64> {
    let turns = context.body["turns"].as_array().expect("turns");
    let versions = turns.iter().map(|turn| turn["version"].as_u64());
    versions.map(|version| version.expect("a version")).collect()
}

/// The calls of a canonical body in order, each with the source of its result.
fn origins(context: &AssembledContext) -> Vec<String> {
    let turns = context.body["turns"].as_array().expect("turns").iter();
    let calls = turns.filter_map(|turn| turn["calls"].as_array()).flatten();
    let calls_with_origins = calls.map(|call| {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!("{}={}", word(&call["call_id"]), word(&call["result"]["origin"]))
    });
    calls_with_origins.collect()
}

/// A policy with this budget, nothing reserved, and these settings.
fn room(context_tokens_max: u32, settings: Value) -> Value {
    let mut policy = settings;
    policy["budget"] = json!({"context_tokens_max": context_tokens_max, "reserved_tokens": 0});
    policy
}

/// A result of about this many tokens: each word is one.
fn long_result(call_id: &str, tokens: usize) -> Event {
    result(call_id, &json!(" word".repeat(tokens)).to_string())
}
