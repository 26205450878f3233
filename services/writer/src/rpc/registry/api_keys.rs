//! API keys.

use domain::Violation;
use registry::{AllowedOrigins, Principal};

use super::{
    Problem, Request, Writer, administrator, agents, display_name, end, from_registry, key_uses, may_see, not_found,
    overlap, proto,
};

pub(super) async fn create(
    writer: &Writer,
    request: Request<proto::CreateApiKeyRequest>,
) -> Result<(proto::ApiKey, String), Problem> {
    let (by, request) = administrator(writer, request).await?;
    let agent = agents::visible(writer, &by.principal, &request.agent_id)?;
    let name = display_name(request.display_name)?;
    let origins = origins(request.allowed_origins)?;
    let expires_at = end(request.expires_at, writer.now())?;
    by.record_change(writer, format!("agent {agent}: new API key")).await?;
    let created = writer.registry.create_api_key(&agent, &name, origins, expires_at, writer.now()).await;
    let (api_key, secret) = created.map_err(from_registry("agent_id"))?;
    Ok((api_key, secret.reveal().to_owned()))
}

pub(super) async fn rotate(
    writer: &Writer,
    request: Request<proto::RotateApiKeyRequest>,
) -> Result<(proto::ApiKey, String), Problem> {
    let (by, request) = administrator(writer, request).await?;
    let id = visible(writer, &by.principal, request.api_key_id)?;
    let overlap = overlap(request.overlap_seconds)?;
    let expires_at = end(request.expires_at, writer.now())?;
    by.record_change(writer, format!("API key {id}: rotated")).await?;
    let rotated = writer.registry.rotate_api_key(&id, overlap, expires_at, writer.now()).await;
    let (api_key, secret) = rotated.map_err(from_registry("api_key_id"))?;
    Ok((api_key, secret.reveal().to_owned()))
}

pub(super) async fn set_origins(
    writer: &Writer,
    request: Request<proto::SetApiKeyOriginsRequest>,
) -> Result<proto::ApiKey, Problem> {
    let (by, request) = administrator(writer, request).await?;
    let id = visible(writer, &by.principal, request.api_key_id)?;
    let origins = origins(request.allowed_origins)?;
    by.record_change(writer, format!("API key {id}: origins")).await?;
    writer.registry.set_api_key_origins(&id, origins).await.map_err(from_registry("api_key_id"))
}

pub(super) async fn revoke(
    writer: &Writer,
    request: Request<proto::RevokeApiKeyRequest>,
) -> Result<proto::ApiKey, Problem> {
    let (by, request) = administrator(writer, request).await?;
    let id = visible(writer, &by.principal, request.api_key_id)?;
    by.record_change(writer, format!("API key {id}: revoked")).await?;
    writer.registry.revoke_api_key(&id, writer.now()).await.map_err(from_registry("api_key_id"))
}

pub(super) async fn list(
    writer: &Writer,
    request: Request<proto::ListApiKeysRequest>,
) -> Result<Vec<proto::ApiKey>, Problem> {
    let (by, request) = administrator(writer, request).await?;
    let agent = agents::visible(writer, &by.principal, &request.agent_id)?;
    key_uses::add_to_api_keys(writer, writer.registry.list_api_keys(&agent)).await
}

/// The key of a request, if the operator may see its tenant.
fn visible(writer: &Writer, operator: &Principal, id: String) -> Result<String, Problem> {
    match writer.registry.api_key(&id) {
        Some(key) if may_see(operator, &key.tenant_id) => Ok(id),
        _ => Err(not_found("API key", "api_key_id")),
    }
}

fn origins(texts: Vec<String>) -> Result<AllowedOrigins, Violation> {
    AllowedOrigins::parse(texts).map_err(|violation| violation.within("allowed_origins"))
}
