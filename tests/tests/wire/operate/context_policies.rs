//! Context policies: set for an agent, stored by digest for its tenant, and immutable.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tests::errors::{Expected, check_failure};
use tests::operator::Operator;
use tests::stack::Setup;
use tonic::Code::{InvalidArgument, NotFound, PermissionDenied};
use tonic::Status;
use tonic_types::StatusExt as _;
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::Scope;

/// The maximum size of a policy, in bytes.
const POLICY_BYTES_MAX: usize = 256 * 1_024;
const NO_AGENT: Expected = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "agent_id");
const NO_POLICY: Expected = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "digest");

async fn set(operator: &Operator, agent: &str, policy_json: impl ToString) -> Result<proto::ContextPolicy, Status> {
    let request = proto::SetContextPolicyRequest { agent_id: agent.to_owned(), policy_json: policy_json.to_string() };
    let set = operator.registry().set_context_policy(request).await?;
    Ok(set.into_inner().policy.expect("a policy"))
}

/// Without a digest: the agent's current policy.
async fn get(operator: &Operator, agent: &str, digest: &[u8]) -> Result<proto::ContextPolicy, Status> {
    let request = proto::GetContextPolicyRequest { agent_id: agent.to_owned(), digest: digest.to_vec().into() };
    let policy = operator.registry().get_context_policy(request).await?;
    Ok(policy.into_inner().policy.expect("a policy"))
}

fn policy_with(text: &str) -> Value {
    json!({"instructions": text})
}

/// A policy and its expected stored form and digest.
#[track_caller]
fn check(policy: &proto::ContextPolicy, json: &str, tenant: &str) {
    assert_eq!(policy.policy_json, json);
    assert_eq!(policy.digest.to_vec(), Sha256::digest(json).to_vec());
    assert_eq!(policy.tenant_id, tenant);
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_are_stored() {
    let mut stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    operator.agent("acme", "sales").await;
    let default = get(&operator, "support", &[]).await.expect("the default");
    check(&default, "{}", "acme");
    assert_eq!(default.created_at, None);
    // White space, order and defaults do not change a policy.
    let written = r#"{ "summary": "newest", "budget": {}, "instructions": "first" }"#;
    let first = set(&operator, "support", written).await.expect("a policy");
    check(&first, r#"{"instructions":"first"}"#, "acme");
    assert!(first.created_at.is_some());
    let second = set(&operator, "support", policy_with("second")).await.expect("a policy");
    let again = set(&operator, "sales", policy_with("first")).await.expect("the same policy");
    assert_eq!(again, first);
    for restarted in [false, true] {
        if restarted {
            stack.writer.stop().await;
            stack.writer.start().await;
        }
        for (agent, digest, expected) in [
            ("support", &[][..], &second),
            ("sales", &[], &first),
            ("support", &first.digest, &first),
            ("sales", &second.digest, &second),
            ("support", &default.digest, &default),
        ] {
            let policy = get(&operator, agent, digest).await.expect("a policy");
            assert_eq!(policy, *expected, "{agent}");
        }
    }
    let request = proto::ListAgentsRequest { tenant_id: "acme".to_owned() };
    let agents = operator.registry().list_agents(request).await.expect("agents");
    let digests: Vec<_> = agents.into_inner().agents.into_iter().map(|agent| agent.context_policy_digest).collect();
    assert_eq!(digests, [first.digest, second.digest]);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_requests_are_rejected() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    operator.agent("globex", "globex-support").await;
    let theirs = set(&operator, "globex-support", policy_with("theirs")).await.expect("a policy");
    let malformed = |field| (InvalidArgument, "FIELD_MALFORMED", field);
    let padded = |bytes: usize| format!("{{{}}}", " ".repeat(bytes - 2));
    let low = json!({"budget": {"low_water_percent": 0}});
    #[rustfmt::skip]
    let sets = [
        ("no agent", "", "{}".to_owned(), (InvalidArgument, "FIELD_MISSING", "agent_id")),
        ("an unknown agent", "nobody", "{}".to_owned(), NO_AGENT),
        ("no document", "support", String::new(), malformed("policy_json")),
        ("no object", "support", "[]".to_owned(), malformed("policy_json")),
        ("no setting", "support", json!({"x": 1}).to_string(), malformed("policy_json")),
        ("out of its bounds", "support", low.to_string(), malformed("policy_json.budget.low_water_percent")),
        ("too long", "support", padded(POLICY_BYTES_MAX + 1), malformed("policy_json")),
    ];
    for (case, agent, policy, expected) in sets {
        check_failure(case, set(&operator, agent, policy).await, expected);
    }
    let unchanged = get(&operator, "support", &[]).await.expect("the default");
    check(&unchanged, "{}", "acme");
    let gets = [
        ("an unknown agent", "nobody", vec![], NO_AGENT),
        ("31 bytes", "support", vec![7; 31], malformed("digest")),
        ("33 bytes", "support", vec![7; 33], malformed("digest")),
        ("an unknown digest", "support", vec![7; 32], NO_POLICY),
        ("a foreign policy", "support", theirs.digest.to_vec(), NO_POLICY),
    ];
    for (case, agent, digest, expected) in gets {
        check_failure(case, get(&operator, agent, &digest).await, expected);
    }
    let longest = set(&operator, "support", padded(POLICY_BYTES_MAX)).await;
    check(&longest.expect("256 KiB"), "{}", "acme");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_errors_are_reported_at_once() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    let policy = json!({
        "inject": {"template": "{{ nobody }}"},
        "budget": {"context_tokens_max": 1_000, "reserved_tokens": 1_000},
        "redact": {"patterns": ["(", "a*"]},
    });
    let refused = set(&operator, "support", policy).await.expect_err("a refusal");
    assert_eq!(refused.code(), InvalidArgument);
    let details = refused.get_error_details();
    let violations = &details.bad_request().expect("violations").field_violations;
    let fields: Vec<&str> = violations.iter().map(|violation| violation.field.as_str()).collect();
    let expected =
        ["policy_json.inject.template", "policy_json.budget.reserved_tokens", "policy_json.redact.patterns[0]"];
    assert_eq!(fields, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn required_scopes() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    operator.agent("globex", "globex-support").await;
    let with_scopes = async |scopes: &[Scope], tenant: &str| {
        let token = operator.token(scopes, tenant).await;
        Operator::new(operator.caller().with_token(&token.secret))
    };
    let frontend = with_scopes(&[Scope::Append, Scope::Read], "acme").await;
    let missing = (PermissionDenied, "MISSING_SCOPE", "");
    check_failure("set", set(&frontend, "support", "{}").await, missing);
    check_failure("get", get(&frontend, "support", &[]).await, missing);
    let bound = with_scopes(&[Scope::Operate], "acme").await;
    set(&bound, "support", policy_with("own")).await.expect("a policy");
    for agent in ["globex-support", "nobody"] {
        check_failure(agent, set(&bound, agent, "{}").await, NO_AGENT);
        check_failure(agent, get(&bound, agent, &[]).await, NO_AGENT);
    }
}
