//! `hansard erase again`: repeats all erasures on every NATS server.

use std::io::Write as _;

use domain::Status;
use event_log::Record;
use serde_json::json;

use crate::commands::stores::RecordAddress;
use crate::console;
use crate::erase::{finish_all, mark_pending, scan_record};
use crate::exit::Exit;
use crate::progress::{Length, Progress, grouped};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print what would be erased again, and erase nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    record: RecordAddress,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-erase").await?;
    let mut erased = scan_record(&record, None).await?;
    erased.retain(|one| one.status == Status::Erased);
    mark_pending(&record, &mut erased).await?;
    // Commits of erased conversations, other than tombstones, that the leaders still held.
    let commits: u64 = erased.iter().map(|one| one.commits.saturating_sub(1)).sum();
    let removed = if args.dry_run {
        removed(&record).await?
    } else {
        finish_all(&record, &erased).await?;
        erase_again(&record).await?
    };
    let mut out = console::out();
    if args.json {
        let output = json!({
            "dry_run": args.dry_run, "conversations": erased.len(), "standing": commits, "removed": removed,
        });
        writeln!(out, "{output}")?;
        return Ok(Exit::Done);
    }
    let verb = if args.dry_run { "would be" } else { "were" };
    writeln!(
        out,
        "{} erased conversations: {} commits that were still stored {verb} erased, and {} removed messages {verb} erased again on every server",
        grouped(u64::try_from(erased.len()).unwrap_or(u64::MAX)),
        grouped(commits),
        grouped(removed)
    )?;
    Ok(Exit::Done)
}

/// The number of sequences without a message at the leaders, in every stream from which erasures remove messages.
async fn removed(record: &Record) -> anyhow::Result<u64> {
    let mut removed = 0;
    for stream in record.erased_streams() {
        removed += record.count_removed(&stream).await?;
    }
    Ok(removed)
}

async fn erase_again(record: &Record) -> anyhow::Result<u64> {
    let total = removed(record).await?;
    let mut progress = Progress::begin("erase again", Length::Items(total));
    let mut done = 0;
    for stream in record.erased_streams() {
        let of_all = format!("of {} removed messages", grouped(total));
        let text = |position| format!("{} {of_all}", grouped(position));
        let advance = |count: u64| progress.advance(done + count, || text(done + count));
        done += record.erase_again(&stream, advance).await?;
    }
    progress.finish(&format!("{} removed messages", grouped(done)));
    Ok(done)
}
