//! `hansard master-key`: the key by which a deployment seals its secrets at rest.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Subcommand;
use event_log::Registry;
use event_log::seal::MasterKey;
use serde_json::json;

use super::secret_file;
use super::stores::RecordAddress;
use crate::console;
use crate::exit::Exit;

/// Make and rotate the key that seals secrets at rest.
///
/// Sealed are the secrets of HS256 signing keys, the root secrets of tenants, and the keys of receipts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
To rotate: make a new key, restart writers and gateways with both (--master-key-file NEW --previous-master-key-file OLD), \
run `hansard master-key rotate` with both, then restart them with the new key alone. The same command seals for the first \
time; then there is no previous key.

Examples:
  hansard master-key create /etc/hansard/master.key
  hansard master-key rotate --master-key-file new.key --previous-master-key-file old.key")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write a new key to a file that only its owner reads.
    Create {
        /// The file, which must not be there.
        file: PathBuf,
    },
    /// Seal every secret by the master key given. Stopped at any point, the same command resumes.
    Rotate {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        record: RecordAddress,
    },
}

/// Runs the command.
///
/// # Errors
/// The file is there or cannot be written, the record does not answer, or a key is missing.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    match args.action {
        Action::Create { file } => create(&file),
        Action::Rotate { json, record } => rotate(&record, json).await,
    }
}

fn create(file: &std::path::Path) -> anyhow::Result<Exit> {
    let key = MasterKey::generate();
    let name = file.display();
    secret_file::create(file, &key.reveal()).with_context(|| format!("cannot write {name}"))?;
    writeln!(console::out(), "master key {} is in {name}", key.id())?;
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
        writeln!(out, "secrets of the registry sealed anew: {resealed}")?;
    }
    Ok(Exit::Done)
}
