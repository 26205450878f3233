//! `hansard key`: public API keys of agents, for frontends.

use clap::Subcommand;
use wire::proto::operate::v1::{
    ApiKey, CreateApiKeyRequest, ListApiKeysRequest, RevokeApiKeyRequest,
};

use super::registry::{AsJson, Call, print_json, print_secret};
use crate::client::{Failure, Registrar};
use crate::exit::Exit;
use crate::view::when;
use crate::{console, table};

const MESSAGE: &str = "hansard.operate.v1.ApiKey";

/// Make, list and revoke API keys of agents.
///
/// Needs a service token with the scope `operate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The secret of a new key goes to standard output, and is never shown again.

Examples:
  hansard key create --agent support --name website
  hansard key list --agent support
  hansard key revoke 0123456789abcdef")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a key of an agent.
    Create {
        /// The agent that it names.
        #[arg(long)]
        agent: String,
        /// What it is for, as people see it.
        #[arg(long, default_value = "")]
        name: String,
    },
    /// List every key of an agent, revoked ones among them.
    List {
        /// Whose keys.
        #[arg(long)]
        agent: String,
    },
    /// End a key at once.
    Revoke {
        /// Its id, as `list` shows it.
        key: String,
    },
}

/// Runs the command.
///
/// # Errors
/// What the service says.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let mut registrar = args.call.registrar()?;
    let keys = match args.action {
        Action::Create { agent, name } => {
            let (id, secret) = create(&mut registrar, agent, name).await?;
            print_secret(AsJson(args.call.json), ("apiKeyId", &id), &secret)?;
            return Ok(Exit::Done);
        }
        Action::List { agent } => list(&mut registrar, agent).await?,
        Action::Revoke { key } => revoke(&mut registrar, key).await?,
    };
    if args.call.json {
        print_json(MESSAGE, &keys)?;
    } else {
        let rows: Vec<[String; 5]> = keys.into_iter().map(row).collect();
        let header = ["KEY", "AGENT", "NAME", "CREATED", "REVOKED"];
        table::write(&mut console::out(), header, &rows)?;
    }
    Ok(Exit::Done)
}

fn row(key: ApiKey) -> [String; 5] {
    let created = when::seconds(key.created_at.as_ref());
    let revoked = when::seconds(key.revoked_at.as_ref());
    [
        key.api_key_id,
        key.agent_id,
        key.display_name,
        created,
        revoked,
    ]
}

async fn create(
    registrar: &mut Registrar,
    agent_id: String,
    display_name: String,
) -> Result<(String, String), Failure> {
    let request = CreateApiKeyRequest {
        agent_id,
        display_name,
        allowed_origins: Vec::new(),
    };
    let made = registrar.create_api_key(request).await?.into_inner();
    Ok((made.api_key.unwrap_or_default().api_key_id, made.secret))
}

async fn list(registrar: &mut Registrar, agent_id: String) -> Result<Vec<ApiKey>, Failure> {
    Ok(registrar
        .list_api_keys(ListApiKeysRequest { agent_id })
        .await?
        .into_inner()
        .api_keys)
}

async fn revoke(registrar: &mut Registrar, api_key_id: String) -> Result<Vec<ApiKey>, Failure> {
    let request = RevokeApiKeyRequest { api_key_id };
    let ended = registrar.revoke_api_key(request).await?.into_inner();
    Ok(ended.api_key.into_iter().collect())
}
