//! `hansard bootstrap`: creates the streams of a record, and its first service token directly in the registry.
//!
//! All other tokens are created by the registry service, which requires a token. Access to NATS is enough for this command.

use std::collections::BTreeSet;
use std::io::Write as _;

use anyhow::ensure;
use divergence::create_record;
use domain::Label;
use event_log::{Record, RecordConfig};
use read_model::ReadModel;
use registry::{NewServiceToken, Registry, Scope};
use serde_json::json;

use super::registry::print_secret;
use super::stores::{NatsAddress, ReadModelAddress, ShardAddresses};
use crate::console::{self, AsJson};
use crate::exit::{Exit, UsageError};
use crate::view::when::now;

/// Create a record, or the streams that it lacks, and its first service token.
///
/// No record is created beside rows of another one in Postgres, or while Postgres does not answer.
/// Missing streams of an existing record get the replicas of partition 0, and partitions of earlier versions accept batches from
/// then on. With --name, the command then creates a token with the scope `operate` and prints the secret to standard output; it
/// is not shown again. Without --name, it creates no token.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard bootstrap --name admin --nats-url nats://127.0.0.1:4222
  HANSARD_TOKEN=$(hansard bootstrap --name admin) hansard tenant create acme
  hansard bootstrap --partitions 24")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Args {
    /// Name of the token, which commits record as their actor.
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    nats: NatsAddress,
    #[command(flatten)]
    read_model: ReadModelAddress,
    #[command(flatten)]
    shards: ShardAddresses,
    /// Create the record although Postgres has rows of another one. No role answers until `hansard rebuild from-record` has given them up.
    #[arg(long)]
    beside_rows: bool,
    /// Number of partitions of the record.
    #[arg(long, env = "HANSARD_RECORD__PARTITIONS", hide_env_values = true, default_value_t = RecordConfig::default().partitions)]
    partitions: u16,
    /// Replicas of each stream of a new record: 1, 3 or 5.
    #[arg(long, env = "HANSARD_RECORD__REPLICAS", hide_env_values = true)]
    #[arg(default_value_t = 1)]
    replicas: usize,
    /// Create another token even if a valid one with the scope `operate` exists.
    #[arg(long, requires = "name")]
    again: bool,
    /// Create the record even on a server whose settings lose acknowledged commits in a power failure.
    #[arg(long)]
    accept_data_loss: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let name = args
        .name
        .as_deref()
        .map(Label::parse)
        .transpose()
        .map_err(|violation| UsageError(format!("the token's name {}", violation.description)))?;
    let config = RecordConfig {
        partitions: args.partitions,
        replicas: args.replicas,
        accept_data_loss: args.accept_data_loss,
        client_name: "hansard-bootstrap".to_owned(),
        master_keys: args.nats.keys.read()?,
        ..RecordConfig::new(args.nats.nats_url.expose())
    };
    let record = if args.beside_rows {
        Record::create(config).await?
    } else {
        let shards = args.shards.open()?.into_iter().map(|(_, shard)| shard);
        let databases: Vec<ReadModel> = std::iter::once(args.read_model.open()?).chain(shards).collect();
        create_record(config, &databases).await?
    };
    match name {
        Some(name) => create_token(&record, name, &args).await,
        None => print_streams(&record, &args),
    }
}

/// Prints that the streams are complete.
fn print_streams(record: &Record, args: &Args) -> anyhow::Result<Exit> {
    ensure!(
        record.accepts_batches(),
        "the partitions do not accept batches: this needs nats-server 2.15 or later, and a NATS user that may change streams"
    );
    let partitions = record.partitions();
    let mut out = console::out();
    if args.json {
        let output = json!({"partitions": partitions, "acceptsBatches": true});
        writeln!(out, "{output}")?;
    } else {
        writeln!(out, "the record has all streams, and its {partitions} partitions accept batches")?;
    }
    Ok(Exit::Done)
}

async fn create_token(record: &Record, name: Label, args: &Args) -> anyhow::Result<Exit> {
    let registry = Registry::open(record).await?;
    if !args.again && has_operator(&registry) {
        anyhow::bail!(
            "the record already has a service token with the scope operate: use it, or create another one by --again"
        );
    }
    let new = NewServiceToken {
        display_name: name,
        scopes: [Scope::Operate].into_iter().collect(),
        tenant: None,
        agents: BTreeSet::new(),
        expires_at: None,
    };
    let (token, secret) = registry.create_service_token(new, now()).await?;
    let (as_json, id) = (AsJson(args.json), &token.service_token_id);
    let exit = print_secret(as_json, "serviceTokenId", id, secret.reveal())?;
    console::err().flush()?;
    Ok(exit)
}

fn has_operator(registry: &Registry) -> bool {
    use wire::proto::operate::v1::Scope as ProtoScope;
    registry.list_service_tokens().iter().any(|token| {
        token.revoked_at.is_none()
            && token.tenant_id.is_empty()
            && token.scopes().any(|scope| scope == ProtoScope::Operate)
    })
}
