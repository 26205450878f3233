//! `hansard signing-key`: the keys by which tokens of a tenant's users and administrators are checked.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use wire::proto::operate::v1::add_signing_key_request::Kind as GivenKind;
use wire::proto::operate::v1::signing_key::Kind;
use wire::proto::operate::v1::{
    AddSigningKeyRequest, AddSigningKeyResponse, ListSigningKeysRequest, RetireSigningKeyRequest,
    SigningKey, SigningKeyUse,
};

use super::input_file;
use super::registry::{AsJson, Call, print_json, print_secret};
use crate::client::{Failure, Registrar};
use crate::exit::Exit;
use crate::view::when;
use crate::{console, table};

const MESSAGE: &str = "hansard.operate.v1.SigningKey";
/// Most bytes of a file with a secret or a JWK set.
const KEY_FILE_BYTES_MAX: u64 = 64 * 1024;

/// Add, list and retire the keys that sign users' and administrators' tokens.
///
/// Needs a service token with the scope `operate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without a key of your own, a secret of HS256 is made. It goes to standard output, and is never shown again; the bytes of \
its text are the key. To rotate: add a new key, sign with it, then retire the old one.

Examples:
  hansard signing-key add 2026-11 --tenant acme --use user
  hansard signing-key add provider --tenant acme --use admin --jwks-url https://id.example/.well-known/jwks.json
  hansard signing-key list --tenant acme
  hansard signing-key retire 2026-10 --tenant acme")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add a key.
    Add {
        /// Its id, unique in its tenant: 1 to 64 of `A-Z a-z 0-9 _ -`. A token's `kid`, where it has one, names it.
        key: String,
        /// Whose it is.
        #[arg(long)]
        tenant: String,
        /// Whose tokens it is for.
        #[arg(long = "use", value_name = "USE")]
        key_use: KeyUse,
        #[command(flatten)]
        given: Given,
    },
    /// List every key of a tenant, retired ones among them, without their secrets.
    List {
        /// Whose keys.
        #[arg(long)]
        tenant: String,
    },
    /// End a key at once.
    Retire {
        /// Its id.
        key: String,
        /// Whose it is.
        #[arg(long)]
        tenant: String,
    },
}

/// A key of one's own.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct Given {
    /// A file with a secret of HS256: 32 to 1,024 bytes of text, taken as they are, a line's end too.
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// A file with a JWK set of public keys for RS256, ES256 or `EdDSA`.
    #[arg(long, value_name = "FILE")]
    jwks_file: Option<PathBuf>,
    /// Where such a set is published: a public `https://` URL, or one that the deployment's `egress` settings allow.
    #[arg(long, value_name = "URL")]
    jwks_url: Option<String>,
}

impl Given {
    fn kind(self) -> anyhow::Result<Option<GivenKind>> {
        let read = |file: PathBuf| input_file::text(&file, KEY_FILE_BYTES_MAX);
        let secret = self.secret_file.map(read).transpose()?;
        let jwks = self.jwks_file.map(read).transpose()?;
        Ok(secret
            .map(|secret| GivenKind::Hs256Secret(secret.into()))
            .or(jwks.map(GivenKind::JwksJson))
            .or(self.jwks_url.map(GivenKind::JwksUrl)))
    }
}

/// Whose tokens a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KeyUse {
    /// Users of the tenant's agents.
    User,
    /// The tenant's administrators.
    Admin,
}

impl From<KeyUse> for SigningKeyUse {
    fn from(key_use: KeyUse) -> Self {
        match key_use {
            KeyUse::User => Self::User,
            KeyUse::Admin => Self::Admin,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// What the service says.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let mut registrar = args.call.registrar()?;
    let keys = match args.action {
        Action::Add {
            key,
            tenant,
            key_use,
            given,
        } => {
            let request = AddSigningKeyRequest {
                tenant_id: tenant,
                signing_key_id: key.clone(),
                r#use: SigningKeyUse::from(key_use).into(),
                kind: given.kind()?,
            };
            let added = add(&mut registrar, request).await?;
            if !added.secret.is_empty() {
                let as_json = AsJson(args.call.json);
                print_secret(as_json, "signingKeyId", key.as_str(), &added.secret)?;
                return Ok(Exit::Done);
            }
            added.signing_key.into_iter().collect()
        }
        Action::List { tenant } => list(&mut registrar, tenant).await?,
        Action::Retire { key, tenant } => retire(&mut registrar, tenant, key).await?,
    };
    if args.call.json {
        print_json(MESSAGE, &keys)?;
    } else {
        let rows: Vec<[String; 6]> = keys.into_iter().map(row).collect();
        let header = ["KEY", "TENANT", "USE", "KIND", "CREATED", "RETIRED"];
        table::write(&mut console::out(), header, &rows)?;
    }
    Ok(Exit::Done)
}

fn row(key: SigningKey) -> [String; 6] {
    let created = when::seconds(key.created_at.as_ref());
    let retired = when::seconds(key.retired_at.as_ref());
    let key_use = match key.r#use() {
        SigningKeyUse::Unspecified => "?",
        SigningKeyUse::User => "user",
        SigningKeyUse::Admin => "admin",
    };
    let kind = match key.kind {
        Some(Kind::Hs256Secret(_)) => "HS256".to_owned(),
        Some(Kind::JwksJson(_)) => "JWK set".to_owned(),
        Some(Kind::JwksUrl(url)) => url,
        None => "?".to_owned(),
    };
    [
        key.signing_key_id,
        key.tenant_id,
        key_use.to_owned(),
        kind,
        created,
        retired,
    ]
}

async fn add(
    registrar: &mut Registrar,
    request: AddSigningKeyRequest,
) -> Result<AddSigningKeyResponse, Failure> {
    Ok(registrar.add_signing_key(request).await?.into_inner())
}

async fn list(registrar: &mut Registrar, tenant_id: String) -> Result<Vec<SigningKey>, Failure> {
    let request = ListSigningKeysRequest { tenant_id };
    let listed = registrar.list_signing_keys(request).await?.into_inner();
    Ok(listed.signing_keys)
}

async fn retire(
    registrar: &mut Registrar,
    tenant_id: String,
    signing_key_id: String,
) -> Result<Vec<SigningKey>, Failure> {
    let request = RetireSigningKeyRequest {
        tenant_id,
        signing_key_id,
        retired_at: None,
    };
    let retired = registrar.retire_signing_key(request).await?.into_inner();
    Ok(retired.signing_key.into_iter().collect())
}
