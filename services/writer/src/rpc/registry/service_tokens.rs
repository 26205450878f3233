//! Service tokens.

use std::collections::BTreeSet;

use domain::{AgentId, Label, Violation, ViolationReason};
use event_log::registry::{NewServiceToken, Principal, RegistryError, Scope, Scopes, TOKEN_AGENTS_MAX};

use super::{Problem, Request, Writer, agents, from_registry, may_see, not_found, operator, proto, visible_tenant};

pub(super) async fn create(
    writer: &Writer,
    request: Request<proto::CreateServiceTokenRequest>,
) -> Result<(proto::ServiceToken, String), Problem> {
    let (operator, request) = operator(writer, request).await?;
    // With a token of one tenant, only tokens of this tenant can be created.
    let tenant_id = match (&operator.tenant, request.tenant_id.as_str()) {
        (Some(bound), "") => bound.as_str(),
        (_, id) => id,
    };
    let tenant = match tenant_id {
        "" => None,
        id => Some(visible_tenant(writer, &operator, id)?),
    };
    let new = NewServiceToken {
        display_name: Label::parse(request.display_name.clone())
            .map_err(|violation| violation.within("display_name"))?,
        scopes: scopes(&request)?,
        agents: bound_agents(writer, &operator, &request)?,
        tenant,
    };
    let created = writer.registry.create_service_token(new, writer.now()).await;
    let (service_token, secret) = created.map_err(|error| {
        if error == (RegistryError::NotFound { what: "agent" }) {
            return not_found("agent of one tenant", "agent_ids");
        }
        from_registry("tenant_id")(error)
    })?;
    Ok((service_token, secret.reveal().to_owned()))
}

pub(super) async fn revoke(
    writer: &Writer,
    request: Request<proto::RevokeServiceTokenRequest>,
) -> Result<proto::ServiceToken, Problem> {
    let (operator, request) = operator(writer, request).await?;
    let id = request.service_token_id;
    let token = writer.registry.service_token(&id);
    if !token.is_some_and(|token| may_see(&operator, &token.tenant_id)) {
        return Err(not_found("service token", "service_token_id"));
    }
    writer.registry.revoke_service_token(&id, writer.now()).await.map_err(from_registry("service_token_id"))
}

pub(super) async fn list(
    writer: &Writer,
    request: Request<proto::ListServiceTokensRequest>,
) -> Result<Vec<proto::ServiceToken>, Problem> {
    let (operator, _) = operator(writer, request).await?;
    let tokens = writer.registry.list_service_tokens().into_iter();
    let visible = tokens.filter(|token| may_see(&operator, &token.tenant_id));
    Ok(visible.collect())
}

/// The agents that a new token is bound to.
fn bound_agents(
    writer: &Writer,
    operator: &Principal,
    request: &proto::CreateServiceTokenRequest,
) -> Result<BTreeSet<AgentId>, Problem> {
    let ids = &request.agent_ids;
    let broken = |description: String| Violation::new(ViolationReason::OutOfRange, description).within("agent_ids");
    if ids.len() > TOKEN_AGENTS_MAX {
        let rule = format!("has {} entries, the maximum is {TOKEN_AGENTS_MAX}", ids.len());
        return Err(broken(rule).into());
    }
    if !ids.is_empty() && request.scopes().any(|scope| scope == proto::Scope::Operate) {
        let rule = "is given with the scope `operate`, which is of whole tenants: leave one of them out";
        return Err(broken(rule.to_owned()).into());
    }
    let visible =
        ids.iter().map(|id| agents::visible(writer, operator, id).map_err(|_| not_found("agent", "agent_ids")));
    visible.collect()
}

fn scopes(request: &proto::CreateServiceTokenRequest) -> Result<Scopes, Violation> {
    let broken = |reason, description: &str| Violation::new(reason, description).within("scopes");
    if request.scopes.is_empty() {
        return Err(broken(ViolationReason::Missing, "is empty: send at least one scope"));
    }
    request
        .scopes
        .iter()
        // The generated accessor drops unknown scopes.
        .map(|scope| proto::Scope::try_from(*scope).unwrap_or_default())
        .map(|scope| {
            let unknown = || broken(ViolationReason::Malformed, "has an unknown scope");
            Scope::from_proto(scope).ok_or_else(unknown)
        })
        .collect()
}
