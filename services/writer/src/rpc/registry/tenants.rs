//! Tenants.

use domain::TenantId;
use event_log::registry::{AccessError, Scope};
use tonic::Request;
use wire::proto::operate::v1 as proto;
use wire::status::Problem;

use super::{display_name, of_registry, operator};
use crate::{Writer, problem};

pub(super) async fn create(
    writer: &Writer,
    request: Request<proto::CreateTenantRequest>,
) -> Result<proto::CreateTenantResponse, Problem> {
    let operator = operator(writer, request.metadata()).await?;
    if operator.tenant.is_some() {
        // A token that is bound to a tenant makes no tenants.
        return Err(problem::of_access(
            &AccessError::MissingScope(Scope::Operate),
            "tenant_id",
        ));
    }
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
