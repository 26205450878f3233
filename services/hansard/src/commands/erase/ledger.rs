//! `hansard erase ledger`: everything that is erased, as one receipt.

use std::io::Write as _;
use std::path::PathBuf;

use domain::Status;
use serde_json::json;

use crate::commands::stores::RecordAddress;
use crate::console;
use crate::erase::keys::SigningKey;
use crate::erase::receipt::Receipt;
use crate::erase::{finish_all, mark_pending, scan};
use crate::exit::Exit;

/// What to list, and where to write it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file to write.
    file: PathBuf,
    /// Print what was written as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    record: RecordAddress,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-erase").await?;
    let key = SigningKey::of(&record).await?;
    let mut found = scan(&record, None).await?;
    found.retain(|found| found.status == Status::Erased);
    // What is signed is complete.
    mark_pending(&record, &mut found).await?;
    finish_all(&record, &found).await?;
    let signed = Receipt::ledger(&record, &found).signed(&key)?;
    signed.write(&args.file)?;
    let (count, file) = (found.len(), args.file.display().to_string());
    let mut out = console::out();
    if args.json {
        writeln!(out, "{}", json!({"conversations": count, "file": file}))?;
    } else {
        writeln!(out, "{count} erased conversations are listed in {file}")?;
    }
    Ok(Exit::Done)
}
