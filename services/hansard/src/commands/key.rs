//! `hansard key`: public API keys of agents, for frontends.

use clap::Subcommand;
use wire::proto::operate::v1::{
    ApiKey, CreateApiKeyRequest, ListApiKeysRequest, RevokeApiKeyRequest, RotateApiKeyRequest,
    SetApiKeyOriginsRequest,
};

use super::registry::{AsJson, Call, print_json, print_secret};
use crate::client::{Failure, Registrar};
use crate::exit::Exit;
use crate::view::when;
use crate::{console, table};

const MESSAGE: &str = "hansard.operate.v1.ApiKey";

/// Make, list, rotate and revoke API keys of agents.
///
/// Needs a service token with the scope `operate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The secret of a new key goes to standard output, and is never shown again.

Examples:
  hansard key create --agent support --name website --origin https://shop.example
  hansard key list --agent support
  hansard key origins 0123456789abcdef --origin https://shop.example --origin http://localhost:3000
  hansard key rotate 0123456789abcdef --overlap-seconds 86400
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
        /// A web origin that may use it, such as `https://shop.example`, or `*` for any; give it several times for several.
        #[arg(long = "origin", value_name = "ORIGIN")]
        origins: Vec<String>,
    },
    /// Set which web origins may use a key, all of them.
    Origins {
        /// Its id, as `list` shows it.
        key: String,
        /// A web origin, such as `https://shop.example`, or `*` for any; give it several times for several.
        #[arg(long = "origin", value_name = "ORIGIN")]
        origins: Vec<String>,
    },
    /// Make a new key in the place of one, which stays valid for a while.
    Rotate {
        /// Its id, as `list` shows it.
        key: String,
        /// For how long the old one stays valid; at most 30 days.
        #[arg(long, value_name = "SECONDS", default_value_t = 0)]
        overlap_seconds: u32,
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
        Action::Create {
            agent,
            name,
            origins,
        } => {
            let request = CreateApiKeyRequest {
                agent_id: agent,
                display_name: name,
                allowed_origins: origins,
            };
            let (id, secret) = create(&mut registrar, request).await?;
            print_secret(AsJson(args.call.json), "apiKeyId", &id, &secret)?;
            return Ok(Exit::Done);
        }
        Action::Rotate {
            key,
            overlap_seconds,
        } => {
            let (id, secret) = rotate(&mut registrar, key, overlap_seconds).await?;
            print_secret(AsJson(args.call.json), "apiKeyId", &id, &secret)?;
            return Ok(Exit::Done);
        }
        Action::Origins { key, origins } => set_origins(&mut registrar, key, origins).await?,
        Action::List { agent } => list(&mut registrar, agent).await?,
        Action::Revoke { key } => revoke(&mut registrar, key).await?,
    };
    if args.call.json {
        print_json(MESSAGE, &keys)?;
    } else {
        let rows: Vec<[String; 7]> = keys.into_iter().map(row).collect();
        let header = [
            "KEY", "AGENT", "NAME", "ORIGINS", "CREATED", "EXPIRES", "REVOKED",
        ];
        table::write(&mut console::out(), header, &rows)?;
    }
    Ok(Exit::Done)
}

fn row(key: ApiKey) -> [String; 7] {
    let created = when::seconds(key.created_at.as_ref());
    let expires = when::seconds(key.expires_at.as_ref());
    let revoked = when::seconds(key.revoked_at.as_ref());
    [
        key.api_key_id,
        key.agent_id,
        key.display_name,
        key.allowed_origins.join(","),
        created,
        expires,
        revoked,
    ]
}

async fn create(
    registrar: &mut Registrar,
    request: CreateApiKeyRequest,
) -> Result<(String, String), Failure> {
    let made = registrar.create_api_key(request).await?.into_inner();
    Ok((made.api_key.unwrap_or_default().api_key_id, made.secret))
}

async fn rotate(
    registrar: &mut Registrar,
    api_key_id: String,
    overlap_seconds: u32,
) -> Result<(String, String), Failure> {
    let request = RotateApiKeyRequest {
        api_key_id,
        overlap_seconds,
    };
    let made = registrar.rotate_api_key(request).await?.into_inner();
    Ok((made.api_key.unwrap_or_default().api_key_id, made.secret))
}

async fn set_origins(
    registrar: &mut Registrar,
    api_key_id: String,
    allowed_origins: Vec<String>,
) -> Result<Vec<ApiKey>, Failure> {
    let request = SetApiKeyOriginsRequest {
        api_key_id,
        allowed_origins,
    };
    let set = registrar.set_api_key_origins(request).await?.into_inner();
    Ok(set.api_key.into_iter().collect())
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
