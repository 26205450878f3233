//! `hansard receipt-key`: the keys that sign erasure receipts.

use std::io::Write as _;

use clap::Subcommand;
use event_log::{ReceiptKey, ReceiptKeys};
use serde_json::{Value, json};

use super::stores::RecordAddress;
use crate::console;
use crate::erase::keys::receipt_keys;
use crate::exit::Exit;
use crate::view::when::{now, rfc3339};

/// List and rotate the keys that sign erasure receipts.
///
/// A rotated key signs no further receipts; its receipts stay verifiable. A backup contains the public keys that existed when it
/// was taken: back up after a rotation.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard receipt-key list
  hansard receipt-key rotate")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    record: RecordAddress,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all keys, oldest first, without private keys.
    List,
    /// Create a new signing key and delete the private key of the previous one.
    Rotate,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-receipt-key").await?;
    let keys = match args.action {
        Action::List => receipt_keys(&record).await?,
        Action::Rotate => record.rotate_receipt_key(now()).await?,
    };
    print(&keys, args.json)?;
    Ok(Exit::Done)
}

fn print(keys: &ReceiptKeys, as_json: bool) -> anyhow::Result<()> {
    let mut out = console::out();
    for key in keys.list() {
        if as_json {
            writeln!(out, "{}", json_of(key))?;
            continue;
        }
        let state = match key.rotated_at {
            Some(at) => format!("rotated at {}", rfc3339(at)),
            None => "active".to_owned(),
        };
        let (id, public_key, created) = (&key.id, &key.public_key, rfc3339(key.created_at));
        writeln!(out, "{id}  {public_key}  created at {created}, {state}")?;
    }
    Ok(())
}

fn json_of(key: &ReceiptKey) -> Value {
    json!({
        "keyId": key.id,
        "publicKey": key.public_key,
        "createdAt": rfc3339(key.created_at),
        "rotatedAt": key.rotated_at.map(rfc3339),
    })
}
