//! `hansard backup`: the whole record in a folder. Reads NATS itself, with no service in between.

use std::io::Write as _;
use std::path::PathBuf;

use super::stores::RecordAddress;
use crate::backup::write;
use crate::console;
use crate::exit::Exit;
use crate::progress::{Length, Progress, grouped};

/// Write the whole record into a folder: conversations, parts of runs, and the registry with its keys and secrets.
///
/// Nothing has to stop. Each stream is taken as of a moment of its own, all within a short time. Keep the folder as secret
/// as the record. What is erased later is still in it: keep receipts of erasures beside it, for its restore.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard backup /backups/2026-11-22
  hansard erase ledger /backups/receipts/2026-11-22.json")]
pub struct Args {
    /// The folder; made unless it is there and empty.
    folder: PathBuf,
    /// Print the manifest as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    record: RecordAddress,
}

/// Runs the command.
///
/// # Errors
/// The folder is not empty or cannot be written to, or the record does not answer.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-backup").await?;
    let streams = u64::try_from(record.stream_names().len()).unwrap_or(u64::MAX);
    let mut progress = Progress::begin("backup", Length::Items(streams));
    let manifest = write(&record, &args.folder, &mut progress).await?;
    let messages: u64 = manifest.streams.iter().map(|stream| stream.messages).sum();
    let (bytes, messages) = (grouped(manifest.size_bytes()), grouped(messages));
    progress.finish(&format!(
        "{streams} streams, {messages} messages, {bytes} bytes"
    ));
    let mut out = console::out();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&manifest)?)?;
    } else {
        writeln!(out, "{}", args.folder.display())?;
    }
    Ok(Exit::Done)
}
