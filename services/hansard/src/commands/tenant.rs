//! `hansard tenant`: who owns the data.

use std::io::Write as _;

use clap::Subcommand;
use wire::proto::operate::v1::{
    CreateTenantRequest, ListTenantsRequest, RevokeTokenRequest, RevokeTokenResponse,
    SetTokenRulesRequest, Tenant,
};

use super::registry::{AsJson, Call, print_json};
use crate::client::{Failure, Registrar};
use crate::exit::Exit;
use crate::view::when;
use crate::{console, table};

const MESSAGE: &str = "hansard.operate.v1.Tenant";
const REVOCATION: &str = "hansard.operate.v1.RevokeTokenResponse";

/// Make and list tenants, and set what they demand of tokens.
///
/// Needs a service token with the scope `operate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard tenant create acme --name 'Acme Inc.'
  hansard tenant set acme --token-issuer https://id.acme.example --token-lifetime-max 3600
  hansard tenant revoke-token acme 7f3a0c2e
  hansard tenant list --json | jq -r .tenantId")]
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
    /// Set what a tenant demands of tokens: what is not named stays as it is.
    #[command(group = clap::ArgGroup::new("rules").required(true).multiple(true))]
    Set {
        /// The tenant.
        tenant: String,
        /// What `aud` must be or have; empty: Hansard or the agent, where it is there.
        #[arg(long, value_name = "AUDIENCE", group = "rules")]
        token_audience: Option<String>,
        /// What `iss` must be; empty: anything.
        #[arg(long, value_name = "ISSUER", group = "rules")]
        token_issuer: Option<String>,
        /// The longest life of a token, in seconds, up to a year; 0: a day.
        #[arg(long, value_name = "SECONDS", group = "rules")]
        token_lifetime_max: Option<u32>,
    },
    /// Revoke a token of a tenant's user or administrator before it expires.
    RevokeToken {
        /// The tenant.
        tenant: String,
        /// The token's `jti`.
        token_id: String,
    },
    /// List every tenant that the token may see.
    List,
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
            token_audience,
            token_issuer,
            token_lifetime_max,
        } => {
            let request = SetTokenRulesRequest {
                tenant_id: tenant,
                audience: token_audience,
                issuer: token_issuer,
                lifetime_seconds_max: token_lifetime_max,
            };
            set(&mut registrar, request).await?
        }
        Action::RevokeToken { tenant, token_id } => {
            let revoked = revoke(&mut registrar, tenant, token_id).await?;
            return print_revocation(&revoked, AsJson(args.call.json));
        }
        Action::List => list(&mut registrar).await?,
    };
    if args.call.json {
        print_json(MESSAGE, &tenants)?;
    } else {
        let rows: Vec<[String; 3]> = tenants.into_iter().map(row).collect();
        table::write(&mut console::out(), ["TENANT", "NAME", "CREATED"], &rows)?;
    }
    Ok(Exit::Done)
}

fn row(tenant: Tenant) -> [String; 3] {
    let created = when::seconds(tenant.created_at.as_ref());
    [tenant.tenant_id, tenant.display_name, created]
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
    request: SetTokenRulesRequest,
) -> Result<Vec<Tenant>, Failure> {
    let set = registrar.set_token_rules(request).await?.into_inner();
    Ok(set.tenant.into_iter().collect())
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

async fn list(registrar: &mut Registrar) -> Result<Vec<Tenant>, Failure> {
    Ok(registrar
        .list_tenants(ListTenantsRequest {})
        .await?
        .into_inner()
        .tenants)
}
