//! Agents, and the secrets that sign their webhook calls.

use domain::{AgentId, TenantId, Violation, ViolationReason};
use registry::{Principal, agent_id_of_tenant};

use super::{
    Problem, Request, Writer, administrator, display_name, from_registry, may_see, not_found, operator, overlap, proto,
    visible_tenant,
};
use crate::request::agent_id;

pub(super) async fn create(
    writer: &Writer,
    request: Request<proto::CreateAgentRequest>,
) -> Result<proto::Agent, Problem> {
    let (operator, request) = operator(writer, request).await?;
    let tenant = visible_tenant(writer, &operator, &request.tenant_id)?;
    let agent = new_id(operator.tenant.as_ref(), &request.agent_id)?;
    let name = display_name(request.display_name)?;
    let created = writer.registry.create_agent(&tenant, &agent, &name, writer.now()).await;
    created.map_err(from_registry("agent_id"))
}

pub(super) async fn list(
    writer: &Writer,
    request: Request<proto::ListAgentsRequest>,
) -> Result<Vec<proto::Agent>, Problem> {
    let (by, request) = administrator(writer, request).await?;
    let tenant = visible_tenant(writer, &by.principal, &request.tenant_id)?;
    Ok(writer.registry.list_agents(&tenant))
}

pub(super) async fn rotate_webhook_secret(
    writer: &Writer,
    request: Request<proto::RotateWebhookSecretRequest>,
) -> Result<String, Problem> {
    let (by, request) = administrator(writer, request).await?;
    let agent = visible(writer, &by.principal, &request.agent_id)?;
    let overlap = overlap(request.overlap_seconds)?;
    by.record_change(writer, format!("agent {agent}: webhook secret")).await?;
    let registry = &writer.registry;
    let rotated = registry.rotate_webhook_secret(&agent, overlap, writer.now()).await;
    let secret = rotated.map_err(from_registry("agent_id"))?;
    Ok(secret.reveal().to_owned())
}

/// The id of a new agent. For an operator of one tenant (`bound`), it is in the namespace of the tenant, so that the operator
/// does not learn ids of others.
/// Errors: the name is invalid, or the id is reserved.
fn new_id(bound: Option<&TenantId>, name: &str) -> Result<AgentId, Violation> {
    let agent = match bound {
        Some(tenant) => agent_id_of_tenant(tenant, name).map_err(|violation| violation.within("agent_id")),
        None => agent_id(name),
    };
    agent.and_then(|agent| check_not_reserved(&agent).map(|()| agent))
}

fn check_not_reserved(agent: &AgentId) -> Result<(), Violation> {
    if !agent.is_audit_log() {
        return Ok(());
    }
    let rule = format!("is `{agent}`, which is reserved for audit logs: choose another id");
    Err(Violation::new(ViolationReason::Reserved, rule).within("agent_id"))
}

/// The agent of a request, if the operator may see its tenant.
pub(super) fn visible(writer: &Writer, operator: &Principal, id: &str) -> Result<AgentId, Problem> {
    let agent = agent_id(id)?;
    match writer.registry.agent(&agent) {
        Some(entry) if may_see(operator, &entry.tenant_id) => Ok(agent),
        _ => Err(not_found("agent", "agent_id")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_of_audit_logs_cannot_be_created() {
        let check = |name: &str, expected: Result<&str, ViolationReason>| {
            let id = new_id(None, name).map(|id| id.as_str().to_owned());
            let seen = id.map_err(|violation| (violation.field, violation.reason));
            let expected = expected.map(str::to_owned).map_err(|reason| ("agent_id".into(), reason));
            assert_eq!(seen, expected, "{name}");
        };
        check("hansard-audit-log", Err(ViolationReason::Reserved));
        check("", Err(ViolationReason::Missing));
        for name in ["hansard-audit-log-2", "hansard-audit", "helper"] {
            check(name, Ok(name));
        }
    }

    #[test]
    fn an_operator_of_one_tenant_creates_agents_in_its_namespace() {
        let [acme, other] = ["acme", "other"].map(|tenant| TenantId::parse(tenant).unwrap());
        let of_acme = new_id(Some(&acme), "helper").unwrap();
        assert!(of_acme.as_str().starts_with("helper-"), "{of_acme}");
        assert_ne!(of_acme, new_id(Some(&other), "helper").unwrap());
        // The namespace makes this another id.
        assert!(!new_id(Some(&acme), "hansard-audit-log").unwrap().is_audit_log());
        let violation = new_id(Some(&acme), "").unwrap_err();
        assert_eq!(violation.field, "agent_id");
    }
}
