//! `hansard master-key`: the key that encrypts a deployment's secrets at rest.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Subcommand;
use event_log::seal::MasterKey;
use registry::Registry;
use serde_json::json;

use super::stores::RecordAddress;
use crate::console;
use crate::exit::Exit;
use crate::secret_file;

/// Create and rotate the master key, which encrypts secrets at rest.
///
/// It encrypts the secrets of HS256 signing keys, the root secrets of tenants, and the receipt keys.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
To rotate: create a new key, restart writers and gateways with both keys (--master-key-file NEW --previous-master-key-file \
OLD), run `hansard master-key rotate` with both, then restart them with the new key only. To encrypt for the first time, do the \
same without a previous key.

Examples:
  hansard master-key create /etc/hansard/master.key
  hansard master-key rotate --master-key-file new.key --previous-master-key-file old.key")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write a new key to a file that only its owner can read.
    Create {
        /// File, which must not exist.
        file: PathBuf,
    },
    /// Encrypt every secret with the given master key. After an interruption, run the same command again.
    Rotate {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        record: RecordAddress,
    },
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    match args.action {
        Action::Create { file } => create(&file),
        Action::Rotate { json, record } => rotate(&record, json).await,
    }
}

fn create(file: &std::path::Path) -> anyhow::Result<Exit> {
    let key = MasterKey::generate();
    let name = file.display();
    secret_file::create(file, &key.reveal()).with_context(|| format!("cannot write {name}"))?;
    let id = key.id();
    writeln!(console::out(), "master key {id} was written to {name}")?;
    Ok(Exit::Done)
}

async fn rotate(address: &RecordAddress, as_json: bool) -> anyhow::Result<Exit> {
    let record = address.open("hansard-master-key").await?;
    let resealed = Registry::open(&record).await?.reseal().await?;
    record.reseal_receipt_keys().await?;
    let mut out = console::out();
    if as_json {
        writeln!(out, "{}", json!({"resealed": resealed}))?;
    } else {
        writeln!(out, "secrets of the registry encrypted again: {resealed}")?;
    }
    Ok(Exit::Done)
}
