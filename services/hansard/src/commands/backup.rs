//! `hansard backup`: writes the whole record to a folder. Reads NATS directly, without a service.

use std::io::Write as _;
use std::path::PathBuf;

use super::stores::RecordAddress;
use crate::backup::write;
use crate::console;
use crate::exit::Exit;
use crate::progress::{Length, Progress, grouped};

/// Write the whole record to a folder: conversations, parts of runs, and the registry with its keys and secrets.
///
/// Safe on a live system. The streams are copied at slightly different times. Protect the folder like the record. The backup
/// still contains what is erased later: keep the erasure receipts or a ledger with it, `hansard restore --receipts` applies
/// them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard backup /backups/2026-11-22
  hansard erase ledger /backups/receipts/2026-11-22.json")]
pub(crate) struct Args {
    /// New or empty folder.
    folder: PathBuf,
    /// Print the manifest as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    record: RecordAddress,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-backup").await?;
    let streams = u64::try_from(record.stream_names().len()).unwrap_or(u64::MAX);
    let mut progress = Progress::begin("backup", Length::Items(streams));
    let manifest = write(&record, &args.folder, &mut progress).await?;
    let messages: u64 = manifest.streams.iter().map(|stream| stream.messages).sum();
    let (bytes, messages) = (grouped(manifest.size_bytes()), grouped(messages));
    let summary = format!("{streams} streams, {messages} messages, {bytes} bytes");
    progress.finish(&summary);
    let mut out = console::out();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&manifest)?)?;
    } else {
        writeln!(out, "{}", args.folder.display())?;
    }
    Ok(Exit::Done)
}
