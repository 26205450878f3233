//! Service tokens.

use std::collections::BTreeSet;

use domain::{AgentId, Label, Violation, ViolationReason};
use registry::{NewServiceToken, Principal, RegistryError, Scope, Scopes, TOKEN_AGENTS_MAX};

use super::{
    Problem, Request, Writer, agents, display_name, end, from_registry, key_uses, may_see, not_found, operator, proto,
    visible_tenant,
};

pub(super) async fn create(
    writer: &Writer,
    request: Request<proto::CreateServiceTokenRequest>,
) -> Result<(proto::ServiceToken, String), Problem> {
    let (operator, request) = operator(writer, request).await?;
    let tenant = match tenant_id(&operator, &request.tenant_id) {
        "" => None,
        id => Some(visible_tenant(writer, &operator, id)?),
    };
    let new = NewServiceToken {
        display_name: Label::parse(display_name(request.display_name.clone())?.as_str())
            .map_err(|violation| violation.within("display_name"))?,
        scopes: scopes(&request)?,
        agents: bound_agents(writer, &operator, &request)?,
        tenant,
        expires_at: end(request.expires_at, writer.now())?,
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
    key_uses::add_to_service_tokens(writer, visible.collect()).await
}

/// The id of the tenant of a new token; empty: all tenants. With a token of one tenant, the default is this tenant.
fn tenant_id<'a>(operator: &'a Principal, id: &'a str) -> &'a str {
    match (&operator.tenant, id) {
        (Some(bound), "") => bound.as_str(),
        (_, id) => id,
    }
}

/// The agents that a new token is bound to.
fn bound_agents(
    writer: &Writer,
    operator: &Principal,
    request: &proto::CreateServiceTokenRequest,
) -> Result<BTreeSet<AgentId>, Problem> {
    check_bound(request)?;
    let ids = request.agent_ids.iter();
    ids.map(|id| agents::visible(writer, operator, id).map_err(|_| not_found("agent", "agent_ids"))).collect()
}

fn check_bound(request: &proto::CreateServiceTokenRequest) -> Result<(), Violation> {
    let ids = &request.agent_ids;
    let broken = |description: String| Violation::new(ViolationReason::OutOfRange, description).within("agent_ids");
    if ids.len() > TOKEN_AGENTS_MAX {
        let rule = format!("has {} entries, the maximum is {TOKEN_AGENTS_MAX}", ids.len());
        return Err(broken(rule));
    }
    if !ids.is_empty() && request.scopes().any(|scope| scope == proto::Scope::Operate) {
        let rule = "is given with the scope `operate`, which is of whole tenants: leave one of them out";
        return Err(broken(rule.to_owned()));
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::super::tests::operator_of;
    use super::*;

    fn request(scopes: &[i32], agents: usize) -> proto::CreateServiceTokenRequest {
        proto::CreateServiceTokenRequest {
            scopes: scopes.to_vec(),
            agent_ids: vec!["helper".to_owned(); agents],
            ..proto::CreateServiceTokenRequest::default()
        }
    }

    #[test]
    fn a_token_of_one_tenant_creates_no_tokens_of_all() {
        assert_eq!(tenant_id(&operator_of(None), ""), "");
        assert_eq!(tenant_id(&operator_of(None), "other"), "other");
        assert_eq!(tenant_id(&operator_of(Some("acme")), ""), "acme");
        assert_eq!(tenant_id(&operator_of(Some("acme")), "other"), "other");
    }

    #[test]
    fn a_token_of_agents_does_not_operate() {
        let (read, operate) = (proto::Scope::Read.into(), proto::Scope::Operate.into());
        let check = |scopes: &[i32], agents: usize, expected: bool| {
            let checked = check_bound(&request(scopes, agents));
            assert_eq!(checked.is_ok(), expected, "{scopes:?} {agents}");
        };
        check(&[read, operate], 0, true);
        check(&[read], 1, true);
        check(&[read, operate], 1, false);
        check(&[read], TOKEN_AGENTS_MAX, true);
        check(&[read], TOKEN_AGENTS_MAX + 1, false);
    }

    #[test]
    fn scopes_are_known() {
        let check = |given: &[i32], expected: Result<&[Scope], ViolationReason>| {
            let seen = scopes(&request(given, 0)).map_err(|violation| violation.reason);
            let expected = expected.map(|expected| expected.iter().copied().collect::<Scopes>());
            assert_eq!(seen, expected, "{given:?}");
        };
        check(&[proto::Scope::Read.into(), proto::Scope::Erase.into()], Ok(&[Scope::Read, Scope::Erase]));
        check(&[], Err(ViolationReason::Missing));
        check(&[proto::Scope::Read.into(), 99], Err(ViolationReason::Malformed));
        check(&[0], Err(ViolationReason::Malformed));
    }
}
