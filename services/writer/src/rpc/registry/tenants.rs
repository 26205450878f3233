//! Tenants.

use domain::{TenantId, Violation, ViolationReason};
use event_log::registry::{AccessError, Principal, Scope, SettingsError, take_quota};
use tonic::Request;
use wire::proto::operate::v1 as proto;
use wire::status::Problem;

use super::{display_name, of_registry, operator, visible_tenant};
use crate::{Writer, problem};

/// Most quotas that one request names.
const QUOTA_PATHS_MAX: usize = 64;

pub(super) async fn create(
    writer: &Writer,
    request: Request<proto::CreateTenantRequest>,
) -> Result<proto::CreateTenantResponse, Problem> {
    let operator = operator(writer, request.metadata()).await?;
    // A token that is bound to a tenant makes no tenants.
    require_unbound(&operator)?;
    let request = request.into_inner();
    let id =
        TenantId::parse(request.tenant_id).map_err(|violation| violation.within("tenant_id"))?;
    display_name(&request.display_name)?;
    let tenant = writer
        .registry
        .create_tenant(&id, &request.display_name, writer.now())
        .await;
    let tenant = tenant.map_err(|error| of_registry(&error, "tenant_id"))?;
    Ok(proto::CreateTenantResponse {
        tenant: Some(tenant),
    })
}

pub(super) async fn list(
    writer: &Writer,
    request: Request<proto::ListTenantsRequest>,
) -> Result<proto::ListTenantsResponse, Problem> {
    let operator = operator(writer, request.metadata()).await?;
    let is_visible = |tenant: &proto::Tenant| {
        operator
            .tenant
            .as_ref()
            .is_none_or(|bound| bound.as_str() == tenant.tenant_id)
    };
    let tenants = writer
        .registry
        .list_tenants()
        .into_iter()
        .filter(is_visible)
        .collect();
    Ok(proto::ListTenantsResponse { tenants })
}

/// Sets what a tenant may use; a token that is bound to a tenant cannot, or its own bounds would be its own choice.
pub(super) async fn set_quotas(
    writer: &Writer,
    request: Request<proto::SetTenantQuotasRequest>,
) -> Result<proto::SetTenantQuotasResponse, Problem> {
    let operator = operator(writer, request.metadata()).await?;
    require_unbound(&operator)?;
    let request = request.into_inner();
    let tenant = visible_tenant(writer, &operator, &request.tenant_id)?;
    let paths = request.update_mask.unwrap_or_default().paths;
    let given = request.quotas;
    let changed = |current| changed_quotas(current, given.as_ref(), &paths);
    let set = writer.registry.change_tenant_quotas(&tenant, changed).await;
    let tenant = set.map_err(|error| match error {
        SettingsError::Broken(violation) => Problem::from(violation),
        SettingsError::Registry(error) => of_registry(&error, "tenant_id"),
    })?;
    Ok(proto::SetTenantQuotasResponse {
        tenant: Some(tenant),
    })
}

/// The quotas with those that are named as they are given; all of them where none is named.
fn changed_quotas(
    mut current: proto::Quotas,
    given: Option<&proto::Quotas>,
    paths: &[String],
) -> Result<proto::Quotas, Violation> {
    if paths.is_empty() {
        return Ok(given.copied().unwrap_or_default());
    }
    if paths.len() > QUOTA_PATHS_MAX {
        let rule = format!(
            "has {} entries, at most {QUOTA_PATHS_MAX} are taken",
            paths.len()
        );
        let violation = Violation::new(ViolationReason::OutOfRange, rule);
        return Err(violation.within("update_mask.paths"));
    }
    for (index, path) in paths.iter().enumerate() {
        take_quota(&mut current, given, path).ok_or_else(|| {
            let rule = "names no quota: give a scope and a quota, such as `owner.runs`";
            Violation::new(ViolationReason::Malformed, rule)
                .at(index)
                .within("update_mask.paths")
        })?;
    }
    Ok(current)
}

fn require_unbound(operator: &Principal) -> Result<(), Problem> {
    if operator.tenant.is_none() {
        return Ok(());
    }
    Err(problem::of_access(
        &AccessError::MissingScope(Scope::Operate),
        "tenant_id",
    ))
}
