//! `hansard tenant`: the owners of agents and data.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Subcommand;
use identity::{TOKEN_BYTES_MAX, claimed_expiry, token_digest};
use prost_types::{FieldMask, Timestamp};
use wire::proto::operate::v1::{
    CreateTenantRequest, ListTenantsRequest, RevokeSessionRequest, RevokeSessionResponse, RevokeTokenRequest,
    RevokeTokenResponse, SetTenantAuditRequest, SetTenantQuotasRequest, SetTenantSearchRequest, SetTokenRulesRequest,
    Tenant,
};

use super::input_file;
use super::quota;
use super::registry::{Call, print_json};
use super::switch::Switch;
use crate::client::{Failure, RegistryClient, answer};
use crate::console;
use crate::exit::{Exit, UsageError};
use crate::view::when;

const MESSAGE: &str = "hansard.operate.v1.Tenant";
const TOKEN_REVOCATION: &str = "hansard.operate.v1.RevokeTokenResponse";
const SESSION_REVOCATION: &str = "hansard.operate.v1.RevokeSessionResponse";

/// Create, list and show tenants, and set their quotas, token rules, search and audit log.
///
/// Needs a service token with the scope `operate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard tenant create acme --name 'Acme Inc.'
  hansard tenant list --json | jq -r .tenantId
  hansard tenant set acme --quota tenant.runs=50 --quota owner.model_tokens_per_day=100000
  hansard tenant set acme --token-issuer https://id.acme.example --token-lifetime-max 3600
  hansard tenant set acme --search off
  hansard tenant set acme --audit-service-tokens on
  hansard tenant show acme
  hansard tenant revoke-token acme 7f3a0c2e
  hansard tenant revoke-token acme --token-file stolen.jwt
  hansard tenant revoke-session acme issued:Zx2pVw9cRk0QmN4bTs8yHg")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a tenant.
    Create {
        /// Id: 1 to 64 characters of `A-Z a-z 0-9 _ -`.
        tenant: String,
        /// Display name.
        #[arg(long, default_value = "")]
        name: String,
    },
    /// Change quotas, token rules, the search and the audit log of a tenant. Settings that are not named stay unchanged.
    #[command(group = clap::ArgGroup::new("settings").required(true).multiple(true))]
    Set {
        /// Id of the tenant.
        tenant: String,
        /// Quota, such as `owner.runs=8`; `default` removes it. Scopes: tenant, agent, key, owner, address. Quotas: `runs`,
        /// `model_tokens_per_day`, `conversations`, `stored_bytes`, `appended_bytes_per_minute`. Needs a token without a tenant.
        #[arg(long, value_name = "SCOPE.QUOTA=NUMBER", group = "settings")]
        quota: Vec<String>,
        /// Whether the tenant's conversations are searched and indexed.
        #[arg(long, value_name = "SWITCH", group = "settings")]
        search: Option<Switch>,
        /// Whether the audit log contains reads by service tokens of conversations that users and sessions own.
        #[arg(long, value_name = "SWITCH", group = "settings")]
        audit_service_tokens: Option<Switch>,
        #[command(flatten)]
        rules: TokenRules,
    },
    /// Revoke a token of a tenant's user or administrator before it expires.
    RevokeToken {
        /// Id of the tenant.
        tenant: String,
        /// Value of the token's claim `jti`.
        #[arg(required_unless_present = "token_file", conflicts_with = "token_file")]
        token_id: Option<String>,
        /// File with the token itself, for a token without `jti`; `-`: standard input. Only its SHA-256 is sent.
        #[arg(long, value_name = "FILE")]
        token_file: Option<PathBuf>,
    },
    /// Revoke the issued session of one visitor.
    ///
    /// The session is neither accepted nor renewed from then on.
    RevokeSession {
        /// Id of the tenant.
        tenant: String,
        /// Id of the session, as conversations show it as their owner: `issued:` and 22 characters.
        session: String,
    },
    /// Show a tenant and its quotas.
    Show {
        /// Id of the tenant.
        tenant: String,
    },
    /// List all tenants that the service token may see.
    List,
}

/// The rules for tokens of a tenant's users and administrators.
#[derive(Debug, clap::Args)]
struct TokenRules {
    /// Required value of the claim `aud`. Empty: `aud` may be absent, else it must name Hansard or the agent.
    #[arg(long = "token-audience", value_name = "AUDIENCE", group = "settings")]
    audience: Option<String>,
    /// Required value of the claim `iss`. Empty: any value.
    #[arg(long = "token-issuer", value_name = "ISSUER", group = "settings")]
    issuer: Option<String>,
    /// Maximum lifetime of a token, in seconds, at most a year. 0: a day.
    #[arg(long = "token-lifetime-max", value_name = "SECONDS")]
    #[arg(group = "settings")]
    lifetime_max: Option<u32>,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let mut registry = args.call.registry()?;
    let tenants = match args.action {
        Action::Create { tenant, name } => {
            let request = CreateTenantRequest { tenant_id: tenant, display_name: name };
            Vec::from_iter(answer(registry.create_tenant(request).await)?.tenant)
        }
        Action::Set { tenant, quota, search, audit_service_tokens, rules } => {
            let set = set(&mut registry, tenant.clone(), (&quota, search), rules).await?;
            match audit_service_tokens {
                Some(switch) => set_audit(&mut registry, tenant, switch).await?,
                None => set,
            }
        }
        Action::RevokeToken { tenant, token_id, token_file } => {
            let request = revocation(tenant, token_id, token_file)?;
            let revoked = answer(registry.revoke_token(request).await)?;
            return print_token_revocation(&args.call, revoked);
        }
        Action::RevokeSession { tenant, session } => {
            let request = RevokeSessionRequest { tenant_id: tenant, session_id: session };
            let revoked = answer(registry.revoke_session(request).await)?;
            return print_session_revocation(&args.call, revoked);
        }
        Action::Show { tenant } => show(&mut registry, &tenant).await?,
        Action::List => list(&mut registry).await?,
    };
    let header = ["TENANT", "NAME", "QUOTAS", "CREATED"];
    args.call.print(MESSAGE, tenants, header, row)
}

/// The request for a token, by its `jti` or by the token itself, which is not sent.
fn revocation(
    tenant_id: String,
    token_id: Option<String>,
    token_file: Option<PathBuf>,
) -> anyhow::Result<RevokeTokenRequest> {
    let mut request = RevokeTokenRequest { tenant_id, ..RevokeTokenRequest::default() };
    let Some(file) = token_file else {
        request.token_id = token_id.unwrap_or_default();
        return Ok(request);
    };
    let bytes_max = u64::try_from(TOKEN_BYTES_MAX)?;
    let text = input_file::text_or_stdin(&file, bytes_max)?;
    let token = text.trim();
    let no_token = |error| UsageError(format!("{} has no token: {error}", file.display()));
    request.token_sha256 = token_digest(token).map_err(no_token)?.to_vec().into();
    request.expires_at = claimed_expiry(token).map_err(no_token)?.map(wire::time::to_proto);
    Ok(request)
}

fn print_token_revocation(call: &Call, revoked: RevokeTokenResponse) -> anyhow::Result<Exit> {
    if call.json {
        return print_json(TOKEN_REVOCATION, &[revoked]);
    }
    print_revocation("token", revoked.kept_until)
}

fn print_session_revocation(call: &Call, revoked: RevokeSessionResponse) -> anyhow::Result<Exit> {
    if call.json {
        return print_json(SESSION_REVOCATION, &[revoked]);
    }
    print_revocation("session", revoked.kept_until)
}

fn print_revocation(what: &str, kept_until: Option<Timestamp>) -> anyhow::Result<Exit> {
    let kept_until = when::seconds(kept_until.as_ref());
    writeln!(console::out(), "revoked; the revocation is stored until the {what} has expired, {kept_until}")?;
    Ok(Exit::Done)
}

fn row(tenant: Tenant) -> [String; 4] {
    let quotas = quota::text(tenant.quotas.as_ref());
    let created = when::seconds(tenant.created_at.as_ref());
    [tenant.tenant_id, tenant.display_name, quotas, created]
}

async fn set(
    registry: &mut RegistryClient,
    tenant_id: String,
    (quotas, search): (&[String], Option<Switch>),
    rules: TokenRules,
) -> anyhow::Result<Vec<Tenant>> {
    let mut changed = None;
    if !quotas.is_empty() {
        let quota::QuotaChanges { quotas, paths } = quota::parse_all(quotas)?;
        let request = SetTenantQuotasRequest {
            tenant_id: tenant_id.clone(),
            quotas: Some(quotas),
            update_mask: Some(FieldMask { paths }),
        };
        changed = answer(registry.set_tenant_quotas(request).await)?.tenant;
    }
    if let Some(switch) = search {
        let request = SetTenantSearchRequest { tenant_id: tenant_id.clone(), disabled: switch == Switch::Off };
        changed = answer(registry.set_tenant_search(request).await)?.tenant;
    }
    if rules.audience.is_some() || rules.issuer.is_some() || rules.lifetime_max.is_some() {
        let request = SetTokenRulesRequest {
            tenant_id,
            audience: rules.audience,
            issuer: rules.issuer,
            lifetime_seconds_max: rules.lifetime_max,
        };
        changed = answer(registry.set_token_rules(request).await)?.tenant;
    }
    Ok(Vec::from_iter(changed))
}

async fn set_audit(
    registry: &mut RegistryClient,
    tenant_id: String,
    service_token_reads: Switch,
) -> Result<Vec<Tenant>, Failure> {
    let service_token_reads = Some(service_token_reads == Switch::On);
    let request = SetTenantAuditRequest { tenant_id, service_token_reads };
    Ok(Vec::from_iter(answer(registry.set_tenant_audit(request).await)?.tenant))
}

async fn show(registry: &mut RegistryClient, tenant: &str) -> anyhow::Result<Vec<Tenant>> {
    let tenants = list(registry).await?.into_iter();
    let found: Vec<Tenant> = tenants.filter(|known| known.tenant_id == tenant).collect();
    if found.is_empty() {
        let message =
            format!("the tenant {tenant} does not exist, or the token may not see it: run `hansard tenant list`");
        return Err(UsageError(message).into());
    }
    Ok(found)
}

async fn list(registry: &mut RegistryClient) -> Result<Vec<Tenant>, Failure> {
    Ok(answer(registry.list_tenants(ListTenantsRequest {}).await)?.tenants)
}
