//! The registry service over gRPC: authorization, checks of fields, and calls of the registry.

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
use event_log::registry::{Principal, RegistryError, Scope, SettingsError};
use tonic::{Request, Response, Status};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::registry_service_server::RegistryService;
use wire::status::{Problem, Reason};

use crate::request::Caller;
use crate::{Writer, problem};

/// Maximum number of fields in an update mask.
const PATHS_MAX: usize = 64;

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

/// The operator and the message of a request.
///
/// # Errors
/// No valid token, or the scope `operate` is missing.
async fn operator<M>(writer: &Writer, request: Request<M>) -> Result<(Principal, M), Problem> {
    let caller = Caller::from_metadata(request.metadata());
    let message = request.into_inner();
    let principal = caller.principal(writer).await?;
    principal
        .require(Scope::Operate)
        .map_err(|error| problem::access_problem(&error, "agent_id"))?;
    Ok((principal, message))
}

/// Whether the operator may see an entry of the tenant with this id.
fn may_see(operator: &Principal, tenant_id: &str) -> bool {
    let bound = operator.tenant.as_ref();
    bound.is_none_or(|bound| bound.as_str() == tenant_id)
}

/// Checks the number of fields of an update mask.
fn check_paths(paths: &[String]) -> Result<(), Violation> {
    if paths.len() <= PATHS_MAX {
        return Ok(());
    }
    let rule = format!("has {} entries, the maximum is {PATHS_MAX}", paths.len());
    Err(Violation::new(ViolationReason::OutOfRange, rule).within("update_mask.paths"))
}

/// The tenant of a request, if the operator may see it. A tenant of others gets the same error as a missing one.
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

/// An error of changed settings; `field` is the field of the entry in the request.
fn from_settings(error: SettingsError, field: &str) -> Problem {
    match error {
        SettingsError::Broken(violation) => Problem::from(violation),
        SettingsError::Registry(error) => from_registry(&error, field),
    }
}

/// An error of the registry.
fn from_registry(error: &RegistryError, field: &str) -> Problem {
    match error {
        RegistryError::AlreadyExists { what } => Problem::of_field(
            Reason::RegistryEntryExists,
            field,
            format!("is the id of another {what}: choose another id"),
        ),
        RegistryError::TooMany { .. } => {
            let reason = Reason::Field(ViolationReason::OutOfRange);
            Problem::of_field(reason, field, format!("cannot be added: {error}"))
        }
        RegistryError::NotFound { what } => not_found(what, field),
        RegistryError::Corrupt { .. } => Problem::new(Reason::DataCorrupt, error.to_string()),
        RegistryError::Unavailable(unavailable) => problem::from_record(*unavailable),
    }
}

rpcs! {
    RegistryService for RegistryRpc {}
    create_tenant(CreateTenantRequest) -> CreateTenantResponse = tenants::create;
    set_tenant_quotas(SetTenantQuotasRequest) -> SetTenantQuotasResponse = tenants::set_quotas;
    list_tenants(ListTenantsRequest) -> ListTenantsResponse = tenants::list;
    set_token_rules(SetTokenRulesRequest) -> SetTokenRulesResponse = token_rules::set;
    revoke_token(RevokeTokenRequest) -> RevokeTokenResponse = token_rules::revoke;
    create_agent(CreateAgentRequest) -> CreateAgentResponse = agents::create;
    list_agents(ListAgentsRequest) -> ListAgentsResponse = agents::list;
    set_context_policy(SetContextPolicyRequest) -> SetContextPolicyResponse = context_policies::set;
    get_context_policy(GetContextPolicyRequest) -> GetContextPolicyResponse = context_policies::get;
    create_api_key(CreateApiKeyRequest) -> CreateApiKeyResponse = api_keys::create;
    revoke_api_key(RevokeApiKeyRequest) -> RevokeApiKeyResponse = api_keys::revoke;
    list_api_keys(ListApiKeysRequest) -> ListApiKeysResponse = api_keys::list;
    set_agent_settings(SetAgentSettingsRequest) -> SetAgentSettingsResponse = agent_settings::set;
    rotate_api_key(RotateApiKeyRequest) -> RotateApiKeyResponse = api_keys::rotate;
    set_api_key_origins(SetApiKeyOriginsRequest) -> SetApiKeyOriginsResponse = api_keys::set_origins;
    add_signing_key(AddSigningKeyRequest) -> AddSigningKeyResponse = signing_keys::add;
    retire_signing_key(RetireSigningKeyRequest) -> RetireSigningKeyResponse = signing_keys::retire;
    list_signing_keys(ListSigningKeysRequest) -> ListSigningKeysResponse = signing_keys::list;
    rotate_webhook_secret(RotateWebhookSecretRequest) -> RotateWebhookSecretResponse = webhook_secrets::rotate;
    create_service_token(CreateServiceTokenRequest) -> CreateServiceTokenResponse = service_tokens::create;
    revoke_service_token(RevokeServiceTokenRequest) -> RevokeServiceTokenResponse = service_tokens::revoke;
    list_service_tokens(ListServiceTokensRequest) -> ListServiceTokensResponse = service_tokens::list;
}
