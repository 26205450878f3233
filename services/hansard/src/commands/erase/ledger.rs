//! `hansard erase ledger`: writes one receipt of everything that is erased.

use std::io::Write as _;
use std::path::PathBuf;

use domain::Status;
use serde_json::json;

use crate::commands::stores::{ArchiveAddress, RecordAddress};
use crate::console;
use crate::erase::keys::SigningKey;
use crate::erase::receipt::Receipt;
use crate::erase::{finish_all, mark_pending, scan};
use crate::exit::Exit;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// File for the ledger.
    file: PathBuf,
    /// Print the count and the file as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    record: RecordAddress,
    #[command(flatten)]
    archive: ArchiveAddress,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-erase").await?;
    let key = SigningKey::of(&record).await?;
    let mut found = scan(&args.archive.of(&record), None).await?;
    found.retain(|found| found.status == Status::Erased);
    // Completes interrupted erasures, since the ledger signs that everything is erased.
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
