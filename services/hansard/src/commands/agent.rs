//! `hansard agent`: the assistants of a tenant.

use clap::Subcommand;
use wire::proto::operate::v1::{Agent, CreateAgentRequest, ListAgentsRequest};

use super::registry::{Call, print_json};
use crate::client::{Failure, Registrar};
use crate::exit::Exit;
use crate::view::when;
use crate::{console, table};

const MESSAGE: &str = "hansard.operate.v1.Agent";

/// Make and list agents.
///
/// Needs a service token with the scope `operate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard agent create support --tenant acme --name 'Support'
  hansard agent list --tenant acme")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make an agent.
    Create {
        /// Its id, unique among all tenants: 1 to 64 of `A-Z a-z 0-9 _ -`.
        agent: String,
        /// Whose it is.
        #[arg(long)]
        tenant: String,
        /// Its name, as people see it.
        #[arg(long, default_value = "")]
        name: String,
    },
    /// List every agent of a tenant.
    List {
        /// Whose agents.
        #[arg(long)]
        tenant: String,
    },
}

/// Runs the command.
///
/// # Errors
/// What the service says.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let mut registrar = args.call.registrar()?;
    let agents = match args.action {
        Action::Create {
            agent,
            tenant,
            name,
        } => {
            let request = CreateAgentRequest {
                tenant_id: tenant,
                agent_id: agent,
                display_name: name,
            };
            create(&mut registrar, request).await?
        }
        Action::List { tenant } => list(&mut registrar, tenant).await?,
    };
    if args.call.json {
        print_json(MESSAGE, &agents)?;
    } else {
        let rows: Vec<[String; 4]> = agents.into_iter().map(row).collect();
        table::write(
            &mut console::out(),
            ["AGENT", "TENANT", "NAME", "CREATED"],
            &rows,
        )?;
    }
    Ok(Exit::Done)
}

fn row(agent: Agent) -> [String; 4] {
    let created = when::seconds(agent.created_at.as_ref());
    [agent.agent_id, agent.tenant_id, agent.display_name, created]
}

async fn create(
    registrar: &mut Registrar,
    request: CreateAgentRequest,
) -> Result<Vec<Agent>, Failure> {
    let made = registrar.create_agent(request).await?.into_inner();
    Ok(made.agent.into_iter().collect())
}

async fn list(registrar: &mut Registrar, tenant_id: String) -> Result<Vec<Agent>, Failure> {
    Ok(registrar
        .list_agents(ListAgentsRequest { tenant_id })
        .await?
        .into_inner()
        .agents)
}
