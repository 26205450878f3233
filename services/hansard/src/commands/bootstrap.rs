//! `hansard bootstrap`: the first service token of a record, made straight in the registry.
//!
//! Every other token is made through the registry service, which needs one. Whoever reaches NATS may do this.

use std::io::Write as _;

use domain::{Label, Timestamp};
use event_log::registry::{NewServiceToken, Scope};
use event_log::{Record, RecordConfig, Registry};
use runtime::clock::Clock;

use super::registry::{AsJson, print_secret};
use super::stores::NatsAddress;
use crate::console;
use crate::exit::{Exit, UsageError};

/// Make the first service token of a new record.
///
/// The token has the scope `operate`. Creates the record where there is none. The secret goes to standard output, and is never shown again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard bootstrap --name admin --nats-url nats://127.0.0.1:4222
  HANSARD_TOKEN=$(hansard bootstrap --name admin) hansard tenant create acme")]
pub struct Args {
    /// The token's name, which commits record as their actor.
    #[arg(long)]
    name: String,
    #[command(flatten)]
    nats: NatsAddress,
    /// Partitions of the record; fixed when it is created.
    #[arg(long, env = "HANSARD_RECORD__PARTITIONS", hide_env_values = true, default_value_t = RecordConfig::default().partitions)]
    partitions: u16,
    /// Copies of each stream when the record is created: 1, 3 or 5.
    #[arg(
        long,
        env = "HANSARD_RECORD__REPLICAS",
        hide_env_values = true,
        default_value_t = 1
    )]
    replicas: usize,
    /// Make another token although there is a valid one with the scope `operate`.
    #[arg(long)]
    again: bool,
    /// Create the record on a server that is seen to lose acknowledged commits when the power fails.
    #[arg(long)]
    accept_data_loss: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// The record cannot be reached, or has such a token already.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let name = Label::parse(args.name)
        .map_err(|violation| UsageError(format!("the token's name {}", violation.description)))?;
    let record = Record::create(RecordConfig {
        partitions: args.partitions,
        replicas: args.replicas,
        accept_data_loss: args.accept_data_loss,
        client_name: "hansard-bootstrap".to_owned(),
        master_keys: args.nats.keys.read()?,
        ..RecordConfig::new(args.nats.nats_url)
    })
    .await?;
    let registry = Registry::open(&record).await?;
    if !args.again && has_operator(&registry) {
        anyhow::bail!(
            "the record has a service token with the scope operate already: use it, or make another one by --again"
        );
    }
    let new = NewServiceToken {
        display_name: name,
        scopes: [Scope::Operate].into_iter().collect(),
        tenant: None,
    };
    let (token, secret) = registry
        .create_service_token(new, Timestamp(Clock::System.now_nanos()))
        .await?;
    print_secret(
        AsJson(args.json),
        "serviceTokenId",
        &token.service_token_id,
        secret.reveal(),
    )?;
    console::err().flush()?;
    Ok(Exit::Done)
}

fn has_operator(registry: &Registry) -> bool {
    use wire::proto::operate::v1::Scope as ProtoScope;
    registry.list_service_tokens().iter().any(|token| {
        token.revoked_at.is_none()
            && token.tenant_id.is_empty()
            && token.scopes().any(|scope| scope == ProtoScope::Operate)
    })
}
