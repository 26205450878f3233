//! `hansard tenant`: who owns the data.

use clap::Subcommand;
use wire::proto::operate::v1::{CreateTenantRequest, ListTenantsRequest, Tenant};

use super::registry::{Call, print_json};
use crate::client::{Failure, Registrar};
use crate::exit::Exit;
use crate::view::when;
use crate::{console, table};

const MESSAGE: &str = "hansard.operate.v1.Tenant";

/// Make and list tenants.
///
/// Needs a service token with the scope `operate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard tenant create acme --name 'Acme Inc.'
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

async fn list(registrar: &mut Registrar) -> Result<Vec<Tenant>, Failure> {
    Ok(registrar
        .list_tenants(ListTenantsRequest {})
        .await?
        .into_inner()
        .tenants)
}
