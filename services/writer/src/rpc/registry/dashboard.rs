//! Links and sessions of the dashboard.

use domain::{Label, TenantId, Violation, ViolationReason};
use event_log::registry::{Principal, Scope};
use identity::{DashboardUse, NewPerson, Role};
use wire::time;

use super::{
    Problem, Request, Writer, from_registry, not_found, operator, principal, proto, visible_tenant,
};

pub(super) async fn create_link(
    writer: &Writer,
    request: Request<proto::CreateDashboardLinkRequest>,
) -> Result<(String, Option<prost_types::Timestamp>), Problem> {
    let (operator, request) = operator(writer, request).await?;
    let person = NewPerson {
        tenant: tenant(writer, &operator, &request.tenant_id)?,
        subject: Label::parse(request.name.clone())
            .map_err(|violation| violation.within("name"))?,
        role: role(&operator, request.role())?,
    };
    let registry = &writer.registry;
    let issued = registry.issue_dashboard_token(DashboardUse::Link, person, writer.now());
    let (link, token) = issued.ok_or_else(|| not_found("tenant", "tenant_id"))?;
    Ok((token, Some(time::to_proto(link.expires_at()))))
}

pub(super) async fn end_token(
    writer: &Writer,
    request: Request<proto::EndDashboardTokenRequest>,
) -> Result<bool, Problem> {
    let (_, request) = principal(writer, request, Scope::Append).await?;
    let token_use = if request.is_session {
        DashboardUse::Session
    } else {
        DashboardUse::Link
    };
    let registry = &writer.registry;
    let ended = registry.end_dashboard_token(token_use, &request.token, writer.now());
    let ended = ended.await.map_err(from_registry("token"))?;
    Ok(ended.is_some())
}

/// The tenant of a link: by default that of the token.
fn tenant(writer: &Writer, operator: &Principal, id: &str) -> Result<TenantId, Problem> {
    match (&operator.tenant, id) {
        (Some(bound), "") => Ok(bound.clone()),
        (_, id) => visible_tenant(writer, operator, id),
    }
}

/// A role that the operator may give.
fn role(operator: &Principal, role: proto::DashboardRole) -> Result<Role, Violation> {
    let broken = |reason, rule: &str| Violation::new(reason, rule).within("role");
    match role {
        proto::DashboardRole::Unspecified => Err(broken(
            ViolationReason::Missing,
            "is required: send a role that this server knows",
        )),
        proto::DashboardRole::Viewer => Ok(Role::Viewer),
        proto::DashboardRole::Support => Ok(Role::Support),
        proto::DashboardRole::Administrator => Ok(Role::Administrator),
        proto::DashboardRole::Operator if operator.tenant.is_none() => Ok(Role::Operator),
        proto::DashboardRole::Operator => Err(broken(
            ViolationReason::OutOfRange,
            "is of the whole deployment: use a service token of all tenants",
        )),
    }
}
