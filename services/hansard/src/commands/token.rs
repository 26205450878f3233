//! `hansard token`: bearer tokens of internal services.

use clap::{Subcommand, ValueEnum};
use wire::proto::operate::v1::{
    CreateServiceTokenRequest, ListServiceTokensRequest, RevokeServiceTokenRequest, Scope,
    ServiceToken,
};

use super::registry::{AsJson, Call, print_json, print_secret};
use crate::client::{Failure, Registrar};
use crate::exit::Exit;
use crate::view::when;
use crate::{console, table};

const MESSAGE: &str = "hansard.operate.v1.ServiceToken";

/// Make, list and revoke service tokens.
///
/// Needs a service token with the scope `operate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The secret of a new token goes to standard output, and is never shown again. \
The first token of a record comes from `hansard bootstrap`.

Examples:
  hansard token create --name importer --scope append --tenant acme
  hansard token list
  hansard token revoke 0123456789abcdef")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a token.
    Create {
        /// Its name, which commits record as their actor.
        #[arg(long)]
        name: String,
        /// What it allows; give it several times for several.
        #[arg(long = "scope", value_name = "SCOPE", required = true)]
        scopes: Vec<TokenScope>,
        /// The one tenant that it is bound to; any when left out.
        #[arg(long, default_value = "")]
        tenant: String,
    },
    /// List every token that this one may see, revoked ones among them.
    List,
    /// End a token at once.
    Revoke {
        /// Its id, as `list` shows it.
        token: String,
    },
}

/// What a token allows.
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

/// Runs the command.
///
/// # Errors
/// What the service says.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let mut registrar = args.call.registrar()?;
    let tokens = match args.action {
        Action::Create {
            name,
            scopes,
            tenant,
        } => {
            let scopes = scopes
                .into_iter()
                .map(|scope| Scope::from(scope).into())
                .collect();
            let request = CreateServiceTokenRequest {
                display_name: name,
                scopes,
                tenant_id: tenant,
            };
            let (id, secret) = create(&mut registrar, request).await?;
            print_secret(AsJson(args.call.json), "serviceTokenId", &id, &secret)?;
            return Ok(Exit::Done);
        }
        Action::List => list(&mut registrar).await?,
        Action::Revoke { token } => revoke(&mut registrar, token).await?,
    };
    if args.call.json {
        print_json(MESSAGE, &tokens)?;
    } else {
        let rows: Vec<[String; 6]> = tokens.into_iter().map(row).collect();
        let header = ["TOKEN", "NAME", "SCOPES", "TENANT", "CREATED", "REVOKED"];
        table::write(&mut console::out(), header, &rows)?;
    }
    Ok(Exit::Done)
}

fn row(token: ServiceToken) -> [String; 6] {
    let scopes: Vec<&str> = token.scopes().map(name_of).collect();
    let scopes = scopes.join(",");
    let created = when::seconds(token.created_at.as_ref());
    let revoked = when::seconds(token.revoked_at.as_ref());
    [
        token.service_token_id,
        token.display_name,
        scopes,
        token.tenant_id,
        created,
        revoked,
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

async fn create(
    registrar: &mut Registrar,
    request: CreateServiceTokenRequest,
) -> Result<(String, String), Failure> {
    let made = registrar.create_service_token(request).await?.into_inner();
    Ok((
        made.service_token.unwrap_or_default().service_token_id,
        made.secret,
    ))
}

async fn list(registrar: &mut Registrar) -> Result<Vec<ServiceToken>, Failure> {
    let tokens = registrar
        .list_service_tokens(ListServiceTokensRequest {})
        .await?;
    Ok(tokens.into_inner().service_tokens)
}

async fn revoke(
    registrar: &mut Registrar,
    service_token_id: String,
) -> Result<Vec<ServiceToken>, Failure> {
    let request = RevokeServiceTokenRequest { service_token_id };
    let ended = registrar.revoke_service_token(request).await?.into_inner();
    Ok(ended.service_token.into_iter().collect())
}
