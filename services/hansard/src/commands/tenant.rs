//! `hansard tenant`: who owns the data.

use std::io::Write as _;

use clap::Subcommand;
use prost_types::FieldMask;
use wire::proto::operate::v1::{
    CreateTenantRequest, ListTenantsRequest, RevokeTokenRequest, RevokeTokenResponse,
    SetTenantQuotasRequest, SetTokenRulesRequest, Tenant,
};

use super::quota;
use super::registry::{AsJson, Call, print_json};
use crate::client::{Failure, Registrar};
use crate::exit::{Exit, UsageError};
use crate::view::when;
use crate::{console, table};

const MESSAGE: &str = "hansard.operate.v1.Tenant";
const REVOCATION: &str = "hansard.operate.v1.RevokeTokenResponse";

/// Make, list and show tenants, and set what they may use and demand of tokens.
///
/// Needs a service token with the scope `operate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard tenant create acme --name 'Acme Inc.'
  hansard tenant list --json | jq -r .tenantId
  hansard tenant set acme --quota tenant.runs=50 --quota owner.model_tokens_per_day=100000
  hansard tenant set acme --token-issuer https://id.acme.example --token-lifetime-max 3600
  hansard tenant show acme
  hansard tenant revoke-token acme 7f3a0c2e")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a tenant.
    Create {
        /// Its id: 1 to 64 of `A-Z a-z 0-9 _ -`.
        tenant: String,
        /// Its name, as people see it.
        #[arg(long, default_value = "")]
        name: String,
    },
    /// Set what a tenant may use, and what it demands of tokens: what is not named stays as it is.
    #[command(group = clap::ArgGroup::new("settings").required(true).multiple(true))]
    Set {
        /// The tenant.
        tenant: String,
        /// A quota, such as `owner.runs=8`; `default` takes it back. Scopes: tenant, agent, key, owner, address. Quotas: `runs`,
        /// `model_tokens_per_day`, `conversations`, `stored_bytes`, `appended_bytes_per_minute`. Needs a token that is bound to no tenant.
        #[arg(long, value_name = "SCOPE.QUOTA=NUMBER", group = "settings")]
        quota: Vec<String>,
        #[command(flatten)]
        rules: Rules,
    },
    /// Revoke a token of a tenant's user or administrator before it expires.
    RevokeToken {
        /// The tenant.
        tenant: String,
        /// The token's `jti`.
        token_id: String,
    },
    /// Show a tenant and the quotas that are set for it.
    Show {
        /// The tenant.
        tenant: String,
    },
    /// List every tenant that the token may see.
    List,
}

/// What a tenant demands of the tokens of its users and administrators.
#[derive(Debug, clap::Args)]
struct Rules {
    /// What `aud` must be or have; empty: Hansard or the agent, where it is there.
    #[arg(long = "token-audience", value_name = "AUDIENCE", group = "settings")]
    audience: Option<String>,
    /// What `iss` must be; empty: anything.
    #[arg(long = "token-issuer", value_name = "ISSUER", group = "settings")]
    issuer: Option<String>,
    /// The longest life of a token, in seconds, up to a year; 0: a day.
    #[arg(
        long = "token-lifetime-max",
        value_name = "SECONDS",
        group = "settings"
    )]
    lifetime_max: Option<u32>,
}

impl Rules {
    fn is_named(&self) -> bool {
        self.audience.is_some() || self.issuer.is_some() || self.lifetime_max.is_some()
    }
}

/// Runs the command.
///
/// # Errors
/// What the service says.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let mut registrar = args.call.registrar()?;
    let tenants = match args.action {
        Action::Create { tenant, name } => create(&mut registrar, tenant, name).await?,
        Action::Set {
            tenant,
            quota,
            rules,
        } => set(&mut registrar, tenant, &quota, rules).await?,
        Action::RevokeToken { tenant, token_id } => {
            let revoked = revoke(&mut registrar, tenant, token_id).await?;
            return print_revocation(&revoked, AsJson(args.call.json));
        }
        Action::Show { tenant } => show(&mut registrar, &tenant).await?,
        Action::List => list(&mut registrar).await?,
    };
    if args.call.json {
        print_json(MESSAGE, &tenants)?;
    } else {
        let rows: Vec<[String; 4]> = tenants.into_iter().map(row).collect();
        table::write(
            &mut console::out(),
            ["TENANT", "NAME", "QUOTAS", "CREATED"],
            &rows,
        )?;
    }
    Ok(Exit::Done)
}

fn row(tenant: Tenant) -> [String; 4] {
    let quotas = quota::text(tenant.quotas.as_ref());
    let created = when::seconds(tenant.created_at.as_ref());
    [tenant.tenant_id, tenant.display_name, quotas, created]
}

async fn create(
    registrar: &mut Registrar,
    tenant_id: String,
    display_name: String,
) -> Result<Vec<Tenant>, Failure> {
    let request = CreateTenantRequest {
        tenant_id,
        display_name,
    };
    let made = registrar.create_tenant(request).await?.into_inner();
    Ok(made.tenant.into_iter().collect())
}

async fn set(
    registrar: &mut Registrar,
    tenant_id: String,
    quotas: &[String],
    rules: Rules,
) -> anyhow::Result<Vec<Tenant>> {
    let mut set = None;
    if !quotas.is_empty() {
        let named = quota::named(quotas)?;
        let request = SetTenantQuotasRequest {
            tenant_id: tenant_id.clone(),
            quotas: Some(named.quotas),
            update_mask: Some(FieldMask { paths: named.paths }),
        };
        let answer = registrar.set_tenant_quotas(request).await;
        set = answer.map_err(Failure::from)?.into_inner().tenant;
    }
    if rules.is_named() {
        let request = SetTokenRulesRequest {
            tenant_id,
            audience: rules.audience,
            issuer: rules.issuer,
            lifetime_seconds_max: rules.lifetime_max,
        };
        let answer = registrar.set_token_rules(request).await;
        set = answer.map_err(Failure::from)?.into_inner().tenant;
    }
    Ok(set.into_iter().collect())
}

async fn revoke(
    registrar: &mut Registrar,
    tenant_id: String,
    token_id: String,
) -> Result<RevokeTokenResponse, Failure> {
    let request = RevokeTokenRequest {
        tenant_id,
        token_id,
    };
    Ok(registrar.revoke_token(request).await?.into_inner())
}

/// Prints until when the revocation is kept.
fn print_revocation(revoked: &RevokeTokenResponse, as_json: AsJson) -> anyhow::Result<Exit> {
    if as_json.0 {
        print_json(REVOCATION, std::slice::from_ref(revoked))?;
    } else {
        let kept_until = when::seconds(revoked.kept_until.as_ref());
        writeln!(
            console::out(),
            "revoked; kept until {kept_until}, when the token has expired"
        )?;
    }
    Ok(Exit::Done)
}

async fn show(registrar: &mut Registrar, tenant: &str) -> anyhow::Result<Vec<Tenant>> {
    let tenants = list(registrar).await?.into_iter();
    let found: Vec<Tenant> = tenants.filter(|known| known.tenant_id == tenant).collect();
    if found.is_empty() {
        let mend = format!(
            "{tenant} is no tenant that this token may see: list them with `hansard tenant list`"
        );
        return Err(UsageError(mend).into());
    }
    Ok(found)
}

async fn list(registrar: &mut Registrar) -> Result<Vec<Tenant>, Failure> {
    Ok(registrar
        .list_tenants(ListTenantsRequest {})
        .await?
        .into_inner()
        .tenants)
}
