//! `hansard key`: public API keys of agents, for frontends.

use clap::Subcommand;
use prost_types::Timestamp;
use wire::proto::operate::v1::{
    ApiKey, CreateApiKeyRequest, ListApiKeysRequest, RevokeApiKeyRequest, RotateApiKeyRequest, SetApiKeyOriginsRequest,
};

use super::registry::Call;
use crate::client::answer;
use crate::exit::Exit;
use crate::view::when;

const MESSAGE: &str = "hansard.operate.v1.ApiKey";

/// Create, list, rotate and revoke API keys of agents.
///
/// Needs a service token with the scope `operate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The secret of a new key is printed to standard output; it is not shown again.

Examples:
  hansard key create --agent support --name website --origin https://shop.example --expires 90d
  hansard key list --agent support
  hansard key origins 0123456789abcdef --origin https://shop.example --origin http://localhost:3000
  hansard key rotate 0123456789abcdef --overlap-seconds 86400
  hansard key revoke 0123456789abcdef")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a key of an agent.
    Create {
        /// Agent of the key.
        #[arg(long)]
        agent: String,
        /// Display name.
        #[arg(long, default_value = "")]
        name: String,
        /// Web origin that may use the key, such as `https://shop.example`, or `*` for any. Repeat the option for several.
        #[arg(long = "origin", value_name = "ORIGIN")]
        origins: Vec<String>,
        /// When the key expires: days from now such as `90d`, or a time such as `2027-01-31T00:00:00Z`. By default never.
        #[arg(long, value_name = "END", value_parser = when::parse_end)]
        expires: Option<Timestamp>,
    },
    /// Replace the web origins that may use a key.
    Origins {
        /// Id of the key, as `hansard key list` shows it.
        key: String,
        /// Web origin, such as `https://shop.example`, or `*` for any. Repeat the option for several.
        #[arg(long = "origin", value_name = "ORIGIN")]
        origins: Vec<String>,
    },
    /// Create a new key that replaces one; the old key stays valid for a while.
    Rotate {
        /// Id of the key, as `hansard key list` shows it.
        key: String,
        /// Seconds during which the old key stays valid; at most 30 days.
        #[arg(long, value_name = "SECONDS", default_value_t = 0)]
        overlap_seconds: u32,
        /// When the new key expires: days from now such as `90d`, or a time such as `2027-01-31T00:00:00Z`. By default never.
        #[arg(long, value_name = "END", value_parser = when::parse_end)]
        expires: Option<Timestamp>,
    },
    /// List all keys of an agent, including revoked ones.
    ///
    /// The last use of each is known about five minutes late.
    List {
        /// Agent of the keys.
        #[arg(long)]
        agent: String,
    },
    /// Revoke a key immediately.
    Revoke {
        /// Id of the key, as `hansard key list` shows it.
        key: String,
    },
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let mut registry = args.call.registry()?;
    let print_created = |key: Option<ApiKey>, secret: &str| {
        let id = key.unwrap_or_default().api_key_id;
        args.call.print_secret("apiKeyId", &id, secret)
    };
    let keys = match args.action {
        Action::Create { agent, name, origins, expires } => {
            let request = CreateApiKeyRequest {
                agent_id: agent,
                display_name: name,
                allowed_origins: origins,
                expires_at: expires,
            };
            let created = answer(registry.create_api_key(request).await)?;
            return print_created(created.api_key, &created.secret);
        }
        Action::Rotate { key, overlap_seconds, expires } => {
            let request = RotateApiKeyRequest { api_key_id: key, overlap_seconds, expires_at: expires };
            let created = answer(registry.rotate_api_key(request).await)?;
            return print_created(created.api_key, &created.secret);
        }
        Action::Origins { key, origins } => {
            let request = SetApiKeyOriginsRequest { api_key_id: key, allowed_origins: origins };
            Vec::from_iter(answer(registry.set_api_key_origins(request).await)?.api_key)
        }
        Action::List { agent } => {
            let request = ListApiKeysRequest { agent_id: agent };
            answer(registry.list_api_keys(request).await)?.api_keys
        }
        Action::Revoke { key } => {
            let request = RevokeApiKeyRequest { api_key_id: key };
            Vec::from_iter(answer(registry.revoke_api_key(request).await)?.api_key)
        }
    };
    let header = ["KEY", "AGENT", "NAME", "ORIGINS", "CREATED", "EXPIRES", "REVOKED", "LAST USED"];
    args.call.print(MESSAGE, keys, header, row)
}

fn row(key: ApiKey) -> [String; 8] {
    [
        key.api_key_id,
        key.agent_id,
        key.display_name,
        key.allowed_origins.join(","),
        when::seconds(key.created_at.as_ref()),
        when::end(key.expires_at.as_ref(), when::now()),
        when::seconds(key.revoked_at.as_ref()),
        when::seconds(key.last_used_at.as_ref()),
    ]
}
