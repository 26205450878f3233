//! Tenants.

use domain::{TenantId, Violation};
use registry::Principal;
use wire::status::Reason;

use super::{
    Problem, Request, display_name, from_registry, from_settings, masked, may_see, operator, proto, visible_tenant,
};
use crate::Writer;

pub(super) async fn create(
    writer: &Writer,
    request: Request<proto::CreateTenantRequest>,
) -> Result<proto::Tenant, Problem> {
    let (operator, request) = operator(writer, request).await?;
    // A token of one tenant cannot create tenants.
    require_unbound(&operator)?;
    let id = TenantId::parse(request.tenant_id).map_err(|violation| violation.within("tenant_id"))?;
    let name = display_name(request.display_name)?;
    writer.registry.create_tenant(&id, &name, writer.now()).await.map_err(from_registry("tenant_id"))
}

pub(super) async fn list(
    writer: &Writer,
    request: Request<proto::ListTenantsRequest>,
) -> Result<Vec<proto::Tenant>, Problem> {
    let (operator, _) = operator(writer, request).await?;
    let tenants = writer.registry.list_tenants().into_iter();
    let visible = tenants.filter(|tenant| may_see(&operator, &tenant.tenant_id));
    Ok(visible.collect())
}

/// Sets the quotas of a tenant. A token of one tenant cannot set its own quotas.
pub(super) async fn set_quotas(
    writer: &Writer,
    request: Request<proto::SetTenantQuotasRequest>,
) -> Result<proto::Tenant, Problem> {
    let (operator, request) = operator(writer, request).await?;
    require_unbound(&operator)?;
    let tenant = visible_tenant(writer, &operator, &request.tenant_id)?;
    let paths = request.update_mask.unwrap_or_default().paths;
    let given = request.quotas;
    let changed = |current| changed_quotas(&current, given.as_ref(), &paths);
    writer.registry.change_tenant_quotas(&tenant, changed).await.map_err(from_settings("tenant_id"))
}

/// Sets the named quotas; without names, all quotas.
fn changed_quotas(
    current: &proto::Quotas,
    given: Option<&proto::Quotas>,
    paths: &[String],
) -> Result<proto::Quotas, Violation> {
    let unknown = "is not a quota: use a scope and a quota, such as `owner.runs`";
    masked("hansard.operate.v1.Quotas", *current, &given.copied().unwrap_or_default(), paths, unknown)
}

/// Checks that the caller is no caller of one tenant: it may change what is set for tenants, such as their quotas.
pub(super) fn require_unbound(caller: &Principal) -> Result<(), Problem> {
    if caller.tenant.is_none() {
        return Ok(());
    }
    Err(Problem::new(Reason::MissingScope, "the caller is bound to a tenant: use a service token for all tenants"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::operator_of;
    use super::*;

    #[test]
    fn only_operators_of_all_tenants_change_quotas() {
        assert!(require_unbound(&operator_of(None)).is_ok());
        assert!(require_unbound(&operator_of(Some("acme"))).is_err());
    }

    #[test]
    fn named_quotas_are_set() {
        let quotas = |runs: u64, bytes: u64| {
            let owner =
                proto::QuotaLimits { runs: Some(runs), stored_bytes: Some(bytes), ..proto::QuotaLimits::default() };
            proto::Quotas { owner: Some(owner), ..proto::Quotas::default() }
        };
        let check = |given: Option<proto::Quotas>, paths: &[&str], expected: Option<proto::Quotas>| {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            let changed = changed_quotas(&quotas(1, 2), given.as_ref(), &paths);
            assert_eq!(changed.ok(), expected, "{paths:?}");
        };
        let given = Some(quotas(3, 4));
        check(given, &[], given);
        check(None, &[], Some(proto::Quotas::default()));
        check(given, &["owner.runs"], Some(quotas(3, 2)));
        check(given, &["owner.runs", "owner.stored_bytes"], given);
        check(given, &["owner.unknown"], None);
    }
}
