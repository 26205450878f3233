//! API keys.

use domain::TenantId;
use event_log::registry::Principal;
use tonic::Request;
use wire::proto::operate::v1 as proto;
use wire::status::Problem;

use super::{agents, display_name, not_found, of_registry, operator};
use crate::Writer;

pub(super) async fn create(
    writer: &Writer,
    request: Request<proto::CreateApiKeyRequest>,
) -> Result<proto::CreateApiKeyResponse, Problem> {
    let operator = operator(writer, request.metadata()).await?;
    let request = request.into_inner();
    let agent = agents::visible(writer, &operator, &request.agent_id)?;
    display_name(&request.display_name)?;
    let made = writer
        .registry
        .create_api_key(&agent, &request.display_name, writer.now())
        .await;
    let (api_key, secret) = made.map_err(|error| of_registry(&error, "agent_id"))?;
    Ok(proto::CreateApiKeyResponse {
        api_key: Some(api_key),
        secret: secret.reveal().to_owned(),
    })
}

pub(super) async fn revoke(
    writer: &Writer,
    request: Request<proto::RevokeApiKeyRequest>,
) -> Result<proto::RevokeApiKeyResponse, Problem> {
    let operator = operator(writer, request.metadata()).await?;
    let id = request.into_inner().api_key_id;
    let known = writer.registry.api_key(&id);
    if !known.is_some_and(|key| sees(&operator, &key.tenant_id)) {
        return Err(not_found("API key", "api_key_id"));
    }
    let revoked = writer.registry.revoke_api_key(&id, writer.now()).await;
    let api_key = revoked.map_err(|error| of_registry(&error, "api_key_id"))?;
    Ok(proto::RevokeApiKeyResponse {
        api_key: Some(api_key),
    })
}

pub(super) async fn list(
    writer: &Writer,
    request: Request<proto::ListApiKeysRequest>,
) -> Result<proto::ListApiKeysResponse, Problem> {
    let operator = operator(writer, request.metadata()).await?;
    let agent = agents::visible(writer, &operator, &request.into_inner().agent_id)?;
    Ok(proto::ListApiKeysResponse {
        api_keys: writer.registry.list_api_keys(&agent),
    })
}

fn sees(operator: &Principal, tenant_id: &str) -> bool {
    TenantId::parse(tenant_id).is_ok_and(|tenant| operator.sees(&tenant))
}
