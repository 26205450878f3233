//! Context policies of agents.

use context::{DEFAULT_POLICY, Policy};
use domain::{TenantId, Violation, ViolationReason};
use registry::Digest;

use super::{Problem, Request, Writer, administrator, agents, from_registry, not_found, proto};

pub(super) async fn set(
    writer: &Writer,
    request: Request<proto::SetContextPolicyRequest>,
) -> Result<proto::ContextPolicy, Problem> {
    let (by, request) = administrator(writer, request).await?;
    let agent = agents::visible(writer, &by.principal, &request.agent_id)?;
    let tenant = writer.registry.agent(&agent).map(|agent| agent.tenant_id).unwrap_or_default();
    let policy = writer.check(&tenant, || Policy::parse(&request.policy_json)).await?;
    let policy = policy.map_err(|violations| Problem::from_violations("policy_json", violations))?;
    let (digest, json) = (policy.digest(), policy.to_json());
    by.record_change(writer, format!("agent {agent}: context policy")).await?;
    let set = writer.registry.set_context_policy(&agent, &digest.0, &json, writer.now()).await;
    set.map_err(from_registry("agent_id"))
}

pub(super) async fn get(
    writer: &Writer,
    request: Request<proto::GetContextPolicyRequest>,
) -> Result<proto::ContextPolicy, Problem> {
    let (by, request) = administrator(writer, request).await?;
    let agent = agents::visible(writer, &by.principal, &request.agent_id)?;
    let Some(agent) = writer.registry.agent(&agent) else {
        return Err(not_found("agent", "agent_id"));
    };
    let digest = if request.digest.is_empty() { &agent.context_policy_digest } else { &request.digest };
    if digest.is_empty() {
        return Ok(default_policy(agent.tenant_id));
    }
    let digest: Digest = digest.as_ref().try_into().map_err(|_| not_a_digest())?;
    let tenant = TenantId::parse(agent.tenant_id.clone()).map_err(|violation| violation.within("agent_id"))?;
    if let Some(policy) = writer.registry.context_policy(&tenant, &digest).await {
        return Ok(policy);
    }
    // The default exists although no caller has set it: receipts name it.
    if digest == DEFAULT_POLICY.digest.0 {
        return Ok(default_policy(agent.tenant_id));
    }
    Err(not_found("context policy", "digest"))
}

fn default_policy(tenant_id: String) -> proto::ContextPolicy {
    proto::ContextPolicy {
        digest: DEFAULT_POLICY.digest.0.to_vec().into(),
        tenant_id,
        policy_json: DEFAULT_POLICY.json.clone(),
        created_at: None,
    }
}

fn not_a_digest() -> Violation {
    Violation::new(ViolationReason::Malformed, "is not 32 bytes: send the SHA-256 digest of a policy").within("digest")
}
