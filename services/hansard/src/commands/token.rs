//! `hansard token`: bearer tokens of internal services.

use clap::{Subcommand, ValueEnum};
use prost_types::Timestamp;
use wire::proto::operate::v1::{
    CreateServiceTokenRequest, ListServiceTokensRequest, RevokeServiceTokenRequest, Scope, ServiceToken,
};

use super::registry::Call;
use crate::client::answer;
use crate::exit::Exit;
use crate::view::when;

const MESSAGE: &str = "hansard.operate.v1.ServiceToken";

/// Create, list and revoke service tokens.
///
/// Needs a service token with the scope `operate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The secret of a new token is printed to standard output; it is not shown again. \
`hansard bootstrap` creates the first token of a record.

Examples:
  hansard token create --name importer --scope append --tenant acme --expires 30d
  hansard token create --name shop --scope append --scope read --agent support
  hansard token list
  hansard token revoke 0123456789abcdef")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a token.
    Create {
        /// Name of the token, which commits record as their actor.
        #[arg(long)]
        name: String,
        /// Scope of the token. Repeat the option for several.
        #[arg(long = "scope", value_name = "SCOPE", required = true)]
        scopes: Vec<TokenScope>,
        /// Tenant to which the token is bound; by default any tenant, or the tenant of its agents.
        #[arg(long, default_value = "")]
        tenant: String,
        /// Agent to which the token is bound; by default any agent. Repeat the option for several, at most 64.
        #[arg(long = "agent", value_name = "AGENT")]
        agents: Vec<String>,
        /// When the token expires: days from now such as `90d`, or a time such as `2027-01-31T00:00:00Z`. By default never.
        #[arg(long, value_name = "END", value_parser = when::parse_end)]
        expires: Option<Timestamp>,
    },
    /// List all tokens that the given token may see, including revoked ones.
    ///
    /// The last use of each is known about five minutes late.
    List,
    /// Revoke a token immediately.
    Revoke {
        /// Id of the token, as `hansard token list` shows it.
        token: String,
    },
}

/// The scope of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TokenScope {
    /// Appending to conversations.
    Append,
    /// Reading conversations.
    Read,
    /// Changing the registry.
    Operate,
    /// Erasing conversations.
    Erase,
}

impl From<TokenScope> for Scope {
    fn from(scope: TokenScope) -> Self {
        match scope {
            TokenScope::Append => Self::Append,
            TokenScope::Read => Self::Read,
            TokenScope::Operate => Self::Operate,
            TokenScope::Erase => Self::Erase,
        }
    }
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let mut registry = args.call.registry()?;
    let tokens = match args.action {
        Action::Create { name, scopes, tenant, agents, expires } => {
            let scopes = scopes.into_iter().map(|scope| Scope::from(scope).into());
            let request = CreateServiceTokenRequest {
                display_name: name,
                scopes: scopes.collect(),
                tenant_id: tenant,
                agent_ids: agents,
                expires_at: expires,
            };
            let created = answer(registry.create_service_token(request).await)?;
            let id = created.service_token.unwrap_or_default().service_token_id;
            let call = &args.call;
            return call.print_secret("serviceTokenId", &id, &created.secret);
        }
        Action::List => {
            let listed = registry.list_service_tokens(ListServiceTokensRequest {});
            answer(listed.await)?.service_tokens
        }
        Action::Revoke { token } => {
            let request = RevokeServiceTokenRequest { service_token_id: token };
            Vec::from_iter(answer(registry.revoke_service_token(request).await)?.service_token)
        }
    };
    let header = ["TOKEN", "NAME", "SCOPES", "TENANT", "AGENTS", "CREATED", "EXPIRES", "REVOKED", "LAST USED"];
    args.call.print(MESSAGE, tokens, header, row)
}

fn row(token: ServiceToken) -> [String; 9] {
    let scopes: Vec<&str> = token.scopes().map(name_of).collect();
    [
        token.service_token_id,
        token.display_name,
        scopes.join(","),
        token.tenant_id,
        token.agent_ids.join(","),
        when::seconds(token.created_at.as_ref()),
        when::end(token.expires_at.as_ref(), when::now()),
        when::seconds(token.revoked_at.as_ref()),
        when::seconds(token.last_used_at.as_ref()),
    ]
}

fn name_of(scope: Scope) -> &'static str {
    match scope {
        Scope::Unspecified => "?",
        Scope::Append => "append",
        Scope::Read => "read",
        Scope::Operate => "operate",
        Scope::Erase => "erase",
    }
}
