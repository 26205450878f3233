//! The policy of a context: the agent's, the request's, or an earlier one of the tenant.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events::user;
use tests::stack::{Setup, Stack};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use wire::proto::read::v1::assemble_context_request::Policy;
use wire::proto::read::v1::{AssembleContextRequest, ContextFormat};

use super::{assemble, form_request, policy_request, set_policy, try_assemble};

fn policy_with(text: &str) -> Value {
    json!({"instructions": text})
}

fn request_with_digest(agent: &Agent, digest: &[u8]) -> AssembleContextRequest {
    AssembleContextRequest {
        policy: Some(Policy::PolicyDigest(digest.to_vec().into())),
        ..form_request(agent, ContextFormat::Canonical)
    }
}

/// The instructions of a context, and the digest in its receipt.
async fn check(agent: &Agent, request: AssembleContextRequest, expected: (&[&str], &[u8])) {
    let context = assemble(agent, request).await;
    let (instructions, digest) = expected;
    assert_eq!(context.body["instructions"], json!(instructions));
    assert_eq!(context.receipt.policy_digest, digest);
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_precedence() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let agent = operator.agent("acme", "support").await;
    let colleague = operator.agent("acme", "sales").await;
    for agent in [&agent, &colleague] {
        let request = agent.create_request(if agent.id() == "sales" { "d" } else { "c" });
        agent.try_create(request).await.expect("a conversation");
    }
    let form = ContextFormat::Canonical;
    let default = Sha256::digest("{}");
    check(&agent, form_request(&agent, form), (&[], &default)).await;
    let first = set_policy(&operator, &agent, &policy_with("first")).await;
    check(&agent, form_request(&agent, form), (&["first"], &first)).await;
    let second = set_policy(&operator, &agent, &policy_with("second")).await;
    check(&agent, form_request(&agent, form), (&["second"], &second)).await;
    check(&agent, request_with_digest(&agent, &first), (&["first"], &first)).await;
    check(&agent, request_with_digest(&agent, &default), (&[], &default)).await;
    let own = policy_with("own");
    let digest = Sha256::digest(own.to_string());
    check(&agent, policy_request(&agent, &own), (&["own"], &digest)).await;
    // A request's policy is not stored.
    let outcome = try_assemble(&agent, request_with_digest(&agent, &digest)).await;
    let unknown = (Code::NotFound, "REGISTRY_ENTRY_NOT_FOUND", "policy_digest");
    check_failure("the request's own", outcome, unknown);
    // A policy belongs to the tenant: its other agents can name it, without using it by default.
    let mut request = request_with_digest(&colleague, &first);
    request.target = Some(colleague.read_target("d"));
    let context = try_assemble(&colleague, request).await.expect("a context");
    assert_eq!(context.receipt.expect("a receipt").policy_digest, first);
}

fn status_parts(status: &Status) -> (Code, String, Vec<u8>) {
    let message = status.message().to_owned();
    (status.code(), message, status.details().to_vec())
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_policies_look_missing() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let owner = operator.agent("acme", "support").await;
    let stranger = operator.agent("globex", "globex-support").await;
    for agent in [&owner, &stranger] {
        agent.create("c").await;
    }
    let set = set_policy(&operator, &owner, &policy_with("theirs")).await;
    // The gateway has it in its cache, which must make no difference.
    assemble(&owner, request_with_digest(&owner, &set)).await;
    let refusal = async |digest: &[u8]| {
        try_assemble(&stranger, request_with_digest(&stranger, digest)).await.expect_err("a refusal")
    };
    let (foreign, missing) = (refusal(&set).await, refusal(&[7; 32]).await);
    assert_eq!(status_parts(&foreign), status_parts(&missing));
    let expected = (Code::NotFound, "REGISTRY_ENTRY_NOT_FOUND", "policy_digest");
    check_failure("a foreign policy", Err::<(), _>(foreign), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_errors_are_reported_at_once() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![user("one")]).await;
    let policy = json!({
        "instructions": "{{ page }}",
        "budget": {"context_tokens_max": 255, "low_water_percent": 0},
        "clear": {"fresh_percent": 100},
        "redact": {"keys": ["fine", ""]},
        "tool_digest": {"results_max": 0},
    });
    let status = try_assemble(&agent, policy_request(&agent, &policy)).await.expect_err("a refusal");
    assert_eq!(status.code(), Code::InvalidArgument);
    let details = status.get_error_details();
    let violations = &details.bad_request().expect("violations").field_violations;
    let fields: Vec<&str> = violations.iter().map(|violation| violation.field.as_str()).collect();
    let expected = [
        "policy_json.instructions",
        "policy_json.budget.context_tokens_max",
        "policy_json.budget.low_water_percent",
        "policy_json.clear.fresh_percent",
        "policy_json.redact.keys[1]",
        "policy_json.tool_digest.results_max",
    ];
    assert_eq!(fields, expected);
}
