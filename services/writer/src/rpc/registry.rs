//! The registry service over gRPC: authorization, checks of fields, and calls of the registry.

mod administrator;
mod agent_settings;
mod agents;
mod api_keys;
mod context_policies;
mod dashboard;
mod key_uses;
mod service_tokens;
mod signing_keys;
mod tenant_audit;
mod tenant_search;
mod tenants;
mod token_rules;
mod usage;

use std::time::Duration;

use domain::{DisplayName, TenantId, Timestamp, Violation, ViolationReason};
use prost::Message;
use registry::{OVERLAP_MAX, Principal, RegistryError, Scope, SettingsError};
use tonic::{Request, Response, Status};
use wire::mask::copy_field;
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::registry_service_server::RegistryService;
use wire::status::{Problem, Reason};

use administrator::administrator;

use crate::request::Caller;
use crate::{Writer, problem};

/// Maximum number of fields in an update mask.
const PATHS_MAX: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct RegistryRpc {
    writer: Writer,
}

impl RegistryRpc {
    pub(crate) fn new(writer: Writer) -> Self {
        Self { writer }
    }
}

/// The operator and the message of a request.
/// Errors: no valid token, or the scope `operate` is missing.
async fn operator<M>(writer: &Writer, request: Request<M>) -> Result<(Principal, M), Problem> {
    principal(writer, request, Scope::Operate).await
}

/// The caller and the message of a request.
/// Errors: no valid token, or the scope is missing.
async fn principal<M>(writer: &Writer, request: Request<M>, scope: Scope) -> Result<(Principal, M), Problem> {
    let caller = Caller::from_metadata(request.metadata());
    let message = request.into_inner();
    let principal = caller.principal(writer).await?;
    principal.require(scope).map_err(|error| problem::access_problem(&error, "agent_id"))?;
    Ok((principal, message))
}

/// Whether the operator may see an entry of the tenant with this id.
fn may_see(operator: &Principal, tenant_id: &str) -> bool {
    let bound = operator.tenant.as_ref();
    bound.is_none_or(|bound| bound.as_str() == tenant_id)
}

/// A message with the fields of another one that an update mask names; without names, the other one. An unknown field breaks the rule
/// `unknown`; `name`: the full name of their type.
fn masked<M: Message + Default + Clone>(
    name: &str,
    mut current: M,
    given: &M,
    paths: &[String],
    unknown: &str,
) -> Result<M, Violation> {
    let within_mask = |violation: Violation| violation.within("update_mask.paths");
    if paths.is_empty() {
        return Ok(given.clone());
    }
    if paths.len() > PATHS_MAX {
        let rule = format!("has {} entries, the maximum is {PATHS_MAX}", paths.len());
        return Err(within_mask(Violation::new(ViolationReason::OutOfRange, rule)));
    }
    for (index, path) in paths.iter().enumerate() {
        let unknown = || within_mask(Violation::new(ViolationReason::Malformed, unknown).at(index));
        current = copy_field(name, &current, given, path).ok_or_else(unknown)?;
    }
    Ok(current)
}

/// The tenant of a request, if the operator may see it. A tenant of others gets the same error as a missing one.
fn visible_tenant(writer: &Writer, operator: &Principal, id: &str) -> Result<TenantId, Problem> {
    let tenant = TenantId::parse(id).map_err(|violation| violation.within("tenant_id"))?;
    if operator.sees(&tenant) && writer.registry.tenant(&tenant).is_some() {
        return Ok(tenant);
    }
    Err(not_found("tenant", "tenant_id"))
}

fn display_name(text: String) -> Result<DisplayName, Violation> {
    DisplayName::parse(text).map_err(|violation| violation.within("display_name"))
}

/// The end of a new key or token; `None`: it has none.
fn end(given: Option<prost_types::Timestamp>, now: Timestamp) -> Result<Option<Timestamp>, Violation> {
    let invalid = |reason, rule: &str| Violation::new(reason, rule).within("expires_at");
    let malformed = |_| invalid(ViolationReason::Malformed, "is no time from 1677 to 2262");
    let end = given.map(wire::time::from_proto).transpose().map_err(malformed)?;
    if end.is_some_and(|end| end <= now) {
        return Err(invalid(ViolationReason::OutOfRange, "is not in the future"));
    }
    Ok(end)
}

/// The time for which a replaced secret remains valid.
fn overlap(seconds: u32) -> Result<Duration, Violation> {
    let overlap = Duration::from_secs(seconds.into());
    if overlap > OVERLAP_MAX {
        let rule = format!("is {seconds}, the maximum is {}", OVERLAP_MAX.as_secs());
        return Err(Violation::new(ViolationReason::OutOfRange, rule).within("overlap_seconds"));
    }
    Ok(overlap)
}

fn not_found(what: &str, field: &str) -> Problem {
    Problem::of_field(Reason::RegistryEntryNotFound, field, format!("names no {what} that this token may see"))
}

/// Converts an error of changed settings; `field` is the field of the entry in the request.
fn from_settings(field: &str) -> impl Fn(SettingsError) -> Problem {
    move |error| match error {
        SettingsError::Broken(violation) => Problem::from(violation),
        SettingsError::Registry(error) => from_registry(field)(error),
    }
}

/// Converts an error of the registry; `field` is the field of the entry in the request.
fn from_registry(field: &str) -> impl Fn(RegistryError) -> Problem {
    move |error| match error {
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
        RegistryError::Unavailable(unavailable) => problem::from_record(unavailable),
    }
}

rpcs! {
    RegistryService for RegistryRpc {}
    create_tenant(CreateTenantRequest) -> CreateTenantResponse { tenant } = tenants::create;
    set_tenant_quotas(SetTenantQuotasRequest) -> SetTenantQuotasResponse { tenant } = tenants::set_quotas;
    list_tenants(ListTenantsRequest) -> ListTenantsResponse { tenants } = tenants::list;
    set_token_rules(SetTokenRulesRequest) -> SetTokenRulesResponse { tenant } = token_rules::set;
    set_tenant_search(SetTenantSearchRequest) -> SetTenantSearchResponse { tenant } = tenant_search::set;
    set_tenant_audit(SetTenantAuditRequest) -> SetTenantAuditResponse { tenant } = tenant_audit::set;
    record_reads(RecordReadsRequest) -> RecordReadsResponse { position_token } = tenant_audit::record_reads;
    revoke_token(RevokeTokenRequest) -> RevokeTokenResponse { kept_until } = token_rules::revoke;
    revoke_session(RevokeSessionRequest) -> RevokeSessionResponse { kept_until } = token_rules::revoke_session;
    create_dashboard_link(CreateDashboardLinkRequest) -> CreateDashboardLinkResponse { token, expires_at } = dashboard::create_link;
    end_dashboard_token(EndDashboardTokenRequest) -> EndDashboardTokenResponse { has_ended } = dashboard::end_token;
    set_dashboard_view(SetDashboardViewRequest) -> SetDashboardViewResponse { views } = dashboard::set_view;
    record_dashboard_action(RecordDashboardActionRequest)
        -> RecordDashboardActionResponse { position_token } = dashboard::record_action;
    create_agent(CreateAgentRequest) -> CreateAgentResponse { agent } = agents::create;
    list_agents(ListAgentsRequest) -> ListAgentsResponse { agents } = agents::list;
    set_context_policy(SetContextPolicyRequest) -> SetContextPolicyResponse { policy } = context_policies::set;
    get_context_policy(GetContextPolicyRequest) -> GetContextPolicyResponse { policy } = context_policies::get;
    create_api_key(CreateApiKeyRequest) -> CreateApiKeyResponse { api_key, secret } = api_keys::create;
    revoke_api_key(RevokeApiKeyRequest) -> RevokeApiKeyResponse { api_key } = api_keys::revoke;
    list_api_keys(ListApiKeysRequest) -> ListApiKeysResponse { api_keys } = api_keys::list;
    set_agent_settings(SetAgentSettingsRequest) -> SetAgentSettingsResponse { agent } = agent_settings::set;
    rotate_api_key(RotateApiKeyRequest) -> RotateApiKeyResponse { api_key, secret } = api_keys::rotate;
    set_api_key_origins(SetApiKeyOriginsRequest) -> SetApiKeyOriginsResponse { api_key } = api_keys::set_origins;
    add_signing_key(AddSigningKeyRequest) -> AddSigningKeyResponse { signing_key, secret } = signing_keys::add;
    retire_signing_key(RetireSigningKeyRequest) -> RetireSigningKeyResponse { signing_key } = signing_keys::retire;
    list_signing_keys(ListSigningKeysRequest) -> ListSigningKeysResponse { signing_keys } = signing_keys::list;
    rotate_webhook_secret(RotateWebhookSecretRequest) -> RotateWebhookSecretResponse { secret } = agents::rotate_webhook_secret;
    create_service_token(CreateServiceTokenRequest)
        -> CreateServiceTokenResponse { service_token, secret } = service_tokens::create;
    revoke_service_token(RevokeServiceTokenRequest) -> RevokeServiceTokenResponse { service_token } = service_tokens::revoke;
    list_service_tokens(ListServiceTokensRequest) -> ListServiceTokensResponse { service_tokens } = service_tokens::list;
    correct_usage(CorrectUsageRequest) -> CorrectUsageResponse { is_stored } = usage::correct;
    record_key_uses(RecordKeyUsesRequest) -> RecordKeyUsesResponse { uses } = key_uses::record;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use domain::{Actor, Label};
    use event_log::Unavailable;

    use super::*;

    /// An operator of one tenant, or of all.
    pub(super) fn operator_of(tenant: Option<&str>) -> Principal {
        Principal {
            token_id: Arc::from("token"),
            actor: Actor(Label::parse("operator").unwrap()),
            scopes: [Scope::Operate].into_iter().collect(),
            tenant: tenant.map(|tenant| TenantId::parse(tenant).unwrap()),
            agents: Arc::new(BTreeSet::new()),
            expires_at: None,
        }
    }

    #[test]
    fn keys_end_in_the_future() {
        let now = Timestamp(1_000_000_000);
        let check = |seconds: i64, nanos: i32, expected: Result<i64, ViolationReason>| {
            let end = end(Some(prost_types::Timestamp { seconds, nanos }), now);
            assert_eq!(end.map(|end| end.unwrap().0).map_err(|violation| violation.reason), expected);
        };
        check(1, 1, Ok(1_000_000_001));
        check(1, 0, Err(ViolationReason::OutOfRange));
        check(0, 0, Err(ViolationReason::OutOfRange));
        check(i64::MAX, 0, Err(ViolationReason::Malformed));
        assert_eq!(end(None, now), Ok(None));
    }

    #[test]
    fn an_operator_of_one_tenant_sees_only_it() {
        for tenant in ["acme", "other", ""] {
            assert!(may_see(&operator_of(None), tenant), "{tenant}");
            assert_eq!(may_see(&operator_of(Some("acme")), tenant), tenant == "acme", "{tenant}");
        }
    }

    #[test]
    fn a_mask_names_known_fields() {
        let given = proto::Quotas { owner: Some(proto::QuotaLimits::default()), ..proto::Quotas::default() };
        let check = |paths: &[&str], expected: Result<proto::Quotas, (ViolationReason, &str)>| {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            let seen = masked("hansard.operate.v1.Quotas", proto::Quotas::default(), &given, &paths, "is unknown");
            let seen = seen.map_err(|violation| (violation.reason, violation.field));
            assert_eq!(seen, expected.map_err(|(reason, field)| (reason, field.into())));
        };
        check(&[], Ok(given));
        check(&["tenant", "owner"], Ok(given));
        check(&["owner", "unknown"], Err((ViolationReason::Malformed, "update_mask.paths[1]")));
        check(&["owner"; PATHS_MAX], Ok(given));
        check(&["owner"; PATHS_MAX + 1], Err((ViolationReason::OutOfRange, "update_mask.paths")));
    }

    #[test]
    fn a_replaced_secret_remains_valid_for_a_bounded_time() {
        let most = u32::try_from(OVERLAP_MAX.as_secs()).unwrap();
        for seconds in [0, 1, most] {
            assert_eq!(overlap(seconds), Ok(Duration::from_secs(seconds.into())));
        }
        let violation = overlap(most + 1).unwrap_err();
        assert_eq!(
            (violation.reason, violation.field.to_string()),
            (ViolationReason::OutOfRange, "overlap_seconds".to_owned())
        );
    }

    #[test]
    fn errors_of_the_registry_name_the_field() {
        let check = |error: RegistryError, expected: (Reason, Option<&str>)| {
            let problem = from_registry("agent_id")(error);
            let field = problem.field().map(ToString::to_string);
            assert_eq!((problem.reason(), field.as_deref()), expected);
        };
        let field = Some("agent_id");
        check(RegistryError::AlreadyExists { what: "agent" }, (Reason::RegistryEntryExists, field));
        check(RegistryError::NotFound { what: "agent" }, (Reason::RegistryEntryNotFound, field));
        let unavailable = Unavailable { what: "nothing answers", retry_after_ms: 5 };
        check(RegistryError::Unavailable(unavailable), (Reason::RecordUnavailable, None));
    }
}
