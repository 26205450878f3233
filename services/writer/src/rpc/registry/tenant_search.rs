//! Whether the conversations of a tenant are searched.

use super::{Problem, Request, Writer, from_registry, operator, proto, visible_tenant};

pub(super) async fn set(
    writer: &Writer,
    request: Request<proto::SetTenantSearchRequest>,
) -> Result<proto::Tenant, Problem> {
    let (operator, request) = operator(writer, request).await?;
    let tenant = visible_tenant(writer, &operator, &request.tenant_id)?;
    writer.registry.set_tenant_search(&tenant, request.disabled).await.map_err(from_registry("tenant_id"))
}
