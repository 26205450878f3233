//! The registry service over gRPC: who may do it, field checks, and what the registry answers.

mod agent_settings;
mod agents;
mod api_keys;
mod context_policies;
mod service_tokens;
mod signing_keys;
mod tenants;
mod token_rules;
mod webhook_secrets;

use domain::bounds::LABEL_BYTES_MAX;
use domain::violation::check_text;
use domain::{TenantId, Violation, ViolationReason};
use event_log::registry::{Principal, RegistryError, Scope};
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::registry_service_server::RegistryService;
use wire::status::{Problem, Reason};

use crate::request::Caller;
use crate::{Writer, problem};

/// The registry service over gRPC.
#[derive(Debug, Clone)]
pub struct RegistryRpc {
    writer: Writer,
}

impl RegistryRpc {
    /// The service of a writer.
    #[must_use]
    pub fn new(writer: Writer) -> Self {
        Self { writer }
    }
}

/// A caller that may change the registry.
async fn operator(writer: &Writer, metadata: &MetadataMap) -> Result<Principal, Problem> {
    let principal = Caller::of(metadata).principal(writer).await?;
    principal
        .require(Scope::Operate)
        .map_err(|error| problem::of_access(&error, "agent_id"))?;
    Ok(principal)
}

/// The tenant of a request, if the operator may see it; a foreign one is as good as missing.
fn visible_tenant(writer: &Writer, operator: &Principal, id: &str) -> Result<TenantId, Problem> {
    let tenant = TenantId::parse(id).map_err(|violation| violation.within("tenant_id"))?;
    if operator.sees(&tenant) && writer.registry.tenant(&tenant).is_some() {
        return Ok(tenant);
    }
    Err(not_found("tenant", "tenant_id"))
}

fn display_name(text: &str) -> Result<(), Violation> {
    check_text(text, LABEL_BYTES_MAX).map_err(|violation| violation.within("display_name"))
}

fn not_found(what: &str, field: &str) -> Problem {
    Problem::of_field(
        Reason::RegistryEntryNotFound,
        field,
        format!("names no {what} that this token may see"),
    )
}

/// What the registry could not do.
fn of_registry(error: &RegistryError, field: &str) -> Problem {
    match error {
        RegistryError::AlreadyExists { what } => Problem::of_field(
            Reason::RegistryEntryExists,
            field,
            format!("is taken by another {what}: choose another id"),
        ),
        RegistryError::TooMany { .. } => {
            let reason = Reason::Field(ViolationReason::OutOfRange);
            Problem::of_field(reason, field, format!("cannot be added: {error}"))
        }
        RegistryError::NotFound { what } => not_found(what, field),
        RegistryError::Corrupt { .. } => Problem::new(Reason::DataCorrupt, error.to_string()),
        RegistryError::Unavailable(unavailable) => problem::of_record(*unavailable),
    }
}

#[tonic::async_trait]
impl RegistryService for RegistryRpc {
    async fn create_tenant(
        &self,
        request: Request<proto::CreateTenantRequest>,
    ) -> Result<Response<proto::CreateTenantResponse>, Status> {
        Ok(Response::new(tenants::create(&self.writer, request).await?))
    }

    async fn set_tenant_quotas(
        &self,
        request: Request<proto::SetTenantQuotasRequest>,
    ) -> Result<Response<proto::SetTenantQuotasResponse>, Status> {
        Ok(Response::new(
            tenants::set_quotas(&self.writer, request).await?,
        ))
    }

    async fn list_tenants(
        &self,
        request: Request<proto::ListTenantsRequest>,
    ) -> Result<Response<proto::ListTenantsResponse>, Status> {
        Ok(Response::new(tenants::list(&self.writer, request).await?))
    }

    async fn set_token_rules(
        &self,
        request: Request<proto::SetTokenRulesRequest>,
    ) -> Result<Response<proto::SetTokenRulesResponse>, Status> {
        Ok(Response::new(
            token_rules::set(&self.writer, request).await?,
        ))
    }

    async fn revoke_token(
        &self,
        request: Request<proto::RevokeTokenRequest>,
    ) -> Result<Response<proto::RevokeTokenResponse>, Status> {
        Ok(Response::new(
            token_rules::revoke(&self.writer, request).await?,
        ))
    }

    async fn create_agent(
        &self,
        request: Request<proto::CreateAgentRequest>,
    ) -> Result<Response<proto::CreateAgentResponse>, Status> {
        Ok(Response::new(agents::create(&self.writer, request).await?))
    }

    async fn list_agents(
        &self,
        request: Request<proto::ListAgentsRequest>,
    ) -> Result<Response<proto::ListAgentsResponse>, Status> {
        Ok(Response::new(agents::list(&self.writer, request).await?))
    }

    async fn set_context_policy(
        &self,
        request: Request<proto::SetContextPolicyRequest>,
    ) -> Result<Response<proto::SetContextPolicyResponse>, Status> {
        Ok(Response::new(
            context_policies::set(&self.writer, request).await?,
        ))
    }

    async fn get_context_policy(
        &self,
        request: Request<proto::GetContextPolicyRequest>,
    ) -> Result<Response<proto::GetContextPolicyResponse>, Status> {
        Ok(Response::new(
            context_policies::get(&self.writer, request).await?,
        ))
    }

    async fn create_api_key(
        &self,
        request: Request<proto::CreateApiKeyRequest>,
    ) -> Result<Response<proto::CreateApiKeyResponse>, Status> {
        Ok(Response::new(
            api_keys::create(&self.writer, request).await?,
        ))
    }

    async fn revoke_api_key(
        &self,
        request: Request<proto::RevokeApiKeyRequest>,
    ) -> Result<Response<proto::RevokeApiKeyResponse>, Status> {
        Ok(Response::new(
            api_keys::revoke(&self.writer, request).await?,
        ))
    }

    async fn list_api_keys(
        &self,
        request: Request<proto::ListApiKeysRequest>,
    ) -> Result<Response<proto::ListApiKeysResponse>, Status> {
        Ok(Response::new(api_keys::list(&self.writer, request).await?))
    }

    async fn set_agent_settings(
        &self,
        request: Request<proto::SetAgentSettingsRequest>,
    ) -> Result<Response<proto::SetAgentSettingsResponse>, Status> {
        Ok(Response::new(
            agent_settings::set(&self.writer, request).await?,
        ))
    }

    async fn rotate_api_key(
        &self,
        request: Request<proto::RotateApiKeyRequest>,
    ) -> Result<Response<proto::RotateApiKeyResponse>, Status> {
        Ok(Response::new(
            api_keys::rotate(&self.writer, request).await?,
        ))
    }

    async fn set_api_key_origins(
        &self,
        request: Request<proto::SetApiKeyOriginsRequest>,
    ) -> Result<Response<proto::SetApiKeyOriginsResponse>, Status> {
        Ok(Response::new(
            api_keys::set_origins(&self.writer, request).await?,
        ))
    }

    async fn add_signing_key(
        &self,
        request: Request<proto::AddSigningKeyRequest>,
    ) -> Result<Response<proto::AddSigningKeyResponse>, Status> {
        Ok(Response::new(
            signing_keys::add(&self.writer, request).await?,
        ))
    }

    async fn retire_signing_key(
        &self,
        request: Request<proto::RetireSigningKeyRequest>,
    ) -> Result<Response<proto::RetireSigningKeyResponse>, Status> {
        Ok(Response::new(
            signing_keys::retire(&self.writer, request).await?,
        ))
    }

    async fn list_signing_keys(
        &self,
        request: Request<proto::ListSigningKeysRequest>,
    ) -> Result<Response<proto::ListSigningKeysResponse>, Status> {
        Ok(Response::new(
            signing_keys::list(&self.writer, request).await?,
        ))
    }

    async fn rotate_webhook_secret(
        &self,
        request: Request<proto::RotateWebhookSecretRequest>,
    ) -> Result<Response<proto::RotateWebhookSecretResponse>, Status> {
        Ok(Response::new(
            webhook_secrets::rotate(&self.writer, request).await?,
        ))
    }

    async fn create_service_token(
        &self,
        request: Request<proto::CreateServiceTokenRequest>,
    ) -> Result<Response<proto::CreateServiceTokenResponse>, Status> {
        Ok(Response::new(
            service_tokens::create(&self.writer, request).await?,
        ))
    }

    async fn revoke_service_token(
        &self,
        request: Request<proto::RevokeServiceTokenRequest>,
    ) -> Result<Response<proto::RevokeServiceTokenResponse>, Status> {
        Ok(Response::new(
            service_tokens::revoke(&self.writer, request).await?,
        ))
    }

    async fn list_service_tokens(
        &self,
        request: Request<proto::ListServiceTokensRequest>,
    ) -> Result<Response<proto::ListServiceTokensResponse>, Status> {
        Ok(Response::new(
            service_tokens::list(&self.writer, request).await?,
        ))
    }
}
