//! `hansard signing-key`: the keys that verify the tokens of a tenant's users and administrators.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use prost_types::Timestamp;
use wire::proto::operate::v1::add_signing_key_request::Kind as NewKind;
use wire::proto::operate::v1::signing_key::Kind;
use wire::proto::operate::v1::{
    AddSigningKeyRequest, ListSigningKeysRequest, RetireSigningKeyRequest, SigningKey, SigningKeyUse,
};

use super::input_file;
use super::registry::Call;
use crate::client::answer;
use crate::exit::Exit;
use crate::view::when;

const MESSAGE: &str = "hansard.operate.v1.SigningKey";
/// The maximum size of a file with a secret or a JWK set.
const KEY_FILE_BYTES_MAX: u64 = 64 * 1024;

/// Add, list and retire the keys that verify tokens of users and administrators.
///
/// Needs a service token with the scope `operate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without a key option, an HS256 secret is created and printed to standard output; it is not shown again. The bytes of its text \
are the key. To rotate: add a new key, sign with it, then retire the old one.

Examples:
  hansard signing-key add 2026-11 --tenant acme --use user --expires 90d
  hansard signing-key add provider --tenant acme --use admin --jwks-url https://id.example/.well-known/jwks.json
  hansard signing-key list --tenant acme
  hansard signing-key retire 2026-10 --tenant acme")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add a key.
    Add {
        /// Id, unique in its tenant: 1 to 64 characters of `A-Z a-z 0-9 _ -`. The `kid` of a token, if present, is this id.
        key: String,
        /// Tenant of the key.
        #[arg(long)]
        tenant: String,
        /// Which tokens the key verifies.
        #[arg(long = "use", value_name = "USE")]
        key_use: KeyUse,
        #[command(flatten)]
        source: KeySource,
        /// When the key expires: days from now such as `90d`, or a time such as `2027-01-31T00:00:00Z`. By default never.
        #[arg(long, value_name = "END", value_parser = when::parse_end)]
        expires: Option<Timestamp>,
    },
    /// List all keys of a tenant, including retired ones, without secrets.
    ///
    /// The last use of each is known about five minutes late.
    List {
        /// Tenant of the keys.
        #[arg(long)]
        tenant: String,
    },
    /// Retire a key immediately.
    Retire {
        /// Id of the key.
        key: String,
        /// Tenant of the key.
        #[arg(long)]
        tenant: String,
    },
}

/// The source of an existing key.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct KeySource {
    /// File with an HS256 secret: 32 to 1,024 bytes of text, used unchanged, including a final line break.
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// File with a JWK set of public keys for RS256, ES256 or `EdDSA`.
    #[arg(long, value_name = "FILE")]
    jwks_file: Option<PathBuf>,
    /// URL of a JWK set: a public `https://` URL, or one that the deployment's `egress` settings allow.
    #[arg(long, value_name = "URL")]
    jwks_url: Option<String>,
}

impl KeySource {
    fn kind(self) -> anyhow::Result<Option<NewKind>> {
        let read = |file: PathBuf| input_file::text(&file, KEY_FILE_BYTES_MAX);
        let secret = self.secret_file.map(read).transpose()?;
        let jwks = self.jwks_file.map(read).transpose()?;
        Ok(secret
            .map(|secret| NewKind::Hs256Secret(secret.into()))
            .or(jwks.map(NewKind::JwksJson))
            .or(self.jwks_url.map(NewKind::JwksUrl)))
    }
}

/// Which tokens a key verifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KeyUse {
    /// Tokens of users of the tenant's agents.
    User,
    /// Tokens of the tenant's administrators.
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

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let mut registry = args.call.registry()?;
    let keys = match args.action {
        Action::Add { key, tenant, key_use, source, expires } => {
            let request = AddSigningKeyRequest {
                tenant_id: tenant,
                signing_key_id: key.clone(),
                r#use: SigningKeyUse::from(key_use).into(),
                kind: source.kind()?,
                expires_at: expires,
            };
            let added = answer(registry.add_signing_key(request).await)?;
            if !added.secret.is_empty() {
                let call = &args.call;
                return call.print_secret("signingKeyId", &key, &added.secret);
            }
            Vec::from_iter(added.signing_key)
        }
        Action::List { tenant } => {
            let request = ListSigningKeysRequest { tenant_id: tenant };
            answer(registry.list_signing_keys(request).await)?.signing_keys
        }
        Action::Retire { key, tenant } => {
            let request = RetireSigningKeyRequest { tenant_id: tenant, signing_key_id: key, retired_at: None };
            Vec::from_iter(answer(registry.retire_signing_key(request).await)?.signing_key)
        }
    };
    let header = ["KEY", "TENANT", "USE", "KIND", "CREATED", "EXPIRES", "RETIRED", "LAST USED"];
    args.call.print(MESSAGE, keys, header, row)
}

fn row(key: SigningKey) -> [String; 8] {
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
        when::seconds(key.created_at.as_ref()),
        when::end(key.expires_at.as_ref(), when::now()),
        when::seconds(key.retired_at.as_ref()),
        when::seconds(key.last_used_at.as_ref()),
    ]
}
