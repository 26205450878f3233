//! `hansard receipt-key`: the keys that sign receipts of erasures.

use std::io::Write as _;

use clap::Subcommand;
use domain::Timestamp;
use event_log::{ReceiptKey, ReceiptKeys};
use runtime::clock::Clock;
use serde_json::{Value, json};

use super::stores::RecordAddress;
use crate::console;
use crate::erase::keys::receipt_keys;
use crate::erase::receipt::rfc3339;
use crate::exit::Exit;

/// List and rotate the keys that sign receipts of erasures.
///
/// A rotated key signs nothing more, and its receipts stay verifiable. Backups hold every public key.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard receipt-key list
  hansard receipt-key rotate")]
pub struct Args {
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
    /// List every key, the oldest first, without seeds.
    List,
    /// Make a new key, which signs from now on, and forget the seed of the one before.
    Rotate,
}

/// Runs the command.
///
/// # Errors
/// The record does not answer, or has as many keys as it may.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-receipt-key").await?;
    let keys = match args.action {
        Action::List => receipt_keys(&record).await?,
        Action::Rotate => {
            let now = Timestamp(Clock::System.now_nanos());
            record.rotate_receipt_key(now).await?
        }
    };
    print(&keys, args.json)?;
    Ok(Exit::Done)
}

fn print(keys: &ReceiptKeys, as_json: bool) -> anyhow::Result<()> {
    let mut out = console::out();
    for key in keys.list() {
        if as_json {
            writeln!(out, "{}", shown(key))?;
            continue;
        }
        let state = key.rotated_at.map_or_else(
            || "signs".to_owned(),
            |at| format!("rotated at {}", rfc3339(at)),
        );
        let (id, public_key, made) = (&key.id, &key.public_key, rfc3339(key.created_at));
        writeln!(out, "{id}  {public_key}  made at {made}, {state}")?;
    }
    Ok(())
}

fn shown(key: &ReceiptKey) -> Value {
    json!({
        "keyId": key.id,
        "publicKey": key.public_key,
        "createdAt": rfc3339(key.created_at),
        "rotatedAt": key.rotated_at.map(rfc3339),
    })
}
