//! `hansard erase again`: repeats all erasures on every NATS server.

use std::io::Write as _;

use domain::Status;
use event_log::Record;
use serde_json::json;

use crate::commands::stores::RecordAddress;
use crate::console;
use crate::erase::{finish_all, mark_pending, scan};
use crate::exit::Exit;
use crate::progress::{Length, Progress, grouped};

/// The arguments.
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

/// The counts of what is erased again.
#[derive(Debug, Default)]
struct Counts {
    /// Erased conversations.
    erased: usize,
    /// Commits of erased conversations, other than tombstones, that the leaders still held.
    commits: u64,
    /// Sequences without a message at the leaders, in every stream from which erasures remove messages.
    removed: u64,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-erase").await?;
    let mut found = Counts::default();
    let mut erased = scan(&record, None).await?;
    erased.retain(|one| one.status == Status::Erased);
    mark_pending(&record, &mut erased).await?;
    found.erased = erased.len();
    found.commits = erased.iter().map(|one| one.commits.saturating_sub(1)).sum();
    if !args.dry_run {
        finish_all(&record, &erased).await?;
    }
    found.removed = if args.dry_run {
        removed(&record).await?
    } else {
        erase_again(&record).await?
    };
    print(&found, &args)?;
    Ok(Exit::Done)
}

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
        let advance = |count: u64| {
            let position = done + count;
            progress.advance(position, || {
                format!(
                    "{} of {} removed messages",
                    grouped(position),
                    grouped(total)
                )
            });
        };
        done += record.erase_again(&stream, advance).await?;
    }
    progress.finish(&format!("{} removed messages", grouped(done)));
    Ok(done)
}

fn print(found: &Counts, args: &Args) -> anyhow::Result<()> {
    let mut out = console::out();
    let Counts {
        erased,
        commits,
        removed,
    } = found;
    if args.json {
        let output = json!({
            "dry_run": args.dry_run, "conversations": erased, "standing": commits, "removed": removed,
        });
        writeln!(out, "{output}")?;
        return Ok(());
    }
    let verb = if args.dry_run { "would be" } else { "were" };
    writeln!(
        out,
        "{} erased conversations: {} commits that were still stored {verb} erased, and {} removed messages {verb} erased again on every server",
        grouped(u64::try_from(*erased).unwrap_or(u64::MAX)),
        grouped(*commits),
        grouped(*removed)
    )?;
    Ok(())
}
