//! `hansard erase again`: what is erased, once more on every server of NATS.

use std::io::Write as _;

use domain::Status;
use event_log::Record;
use serde_json::json;

use crate::commands::stores::RecordAddress;
use crate::console;
use crate::erase::{finish_all, mark_pending, scan};
use crate::exit::Exit;
use crate::progress::{Length, Progress, grouped};

/// Where to erase again.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Say what would be erased again, and erase nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    record: RecordAddress,
}

/// What is there to erase again, or was.
#[derive(Debug, Default)]
struct Found {
    /// Erased conversations.
    erased: usize,
    /// Commits of theirs, behind their tombstones, that stood at the leaders.
    commits: u64,
    /// Sequences at which the leaders hold nothing, in every stream that erasures take messages out of.
    removed: u64,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-erase").await?;
    let mut found = Found::default();
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
    tell(&found, &args)?;
    Ok(Exit::Done)
}

async fn removed(record: &Record) -> anyhow::Result<u64> {
    let mut removed = 0;
    for stream in record.erased_streams() {
        removed += record.removed_of(&stream).await?;
    }
    Ok(removed)
}

async fn erase_again(record: &Record) -> anyhow::Result<u64> {
    let total = removed(record).await?;
    let mut progress = Progress::begin("erase again", Length::Items(total));
    let mut done = 0;
    for stream in record.erased_streams() {
        let told = |some: u64| {
            let words = || {
                format!(
                    "{} of {} removed messages",
                    grouped(done + some),
                    grouped(total)
                )
            };
            progress.advance(done + some, words);
        };
        done += record.erase_again(&stream, told).await?;
    }
    progress.finish(&format!("{} removed messages", grouped(done)));
    Ok(done)
}

fn tell(found: &Found, args: &Args) -> anyhow::Result<()> {
    let mut out = console::out();
    let Found {
        erased,
        commits,
        removed,
    } = found;
    if args.json {
        let told = json!({
            "dry_run": args.dry_run, "conversations": erased, "standing": commits, "removed": removed,
        });
        writeln!(out, "{told}")?;
        return Ok(());
    }
    let verb = if args.dry_run { "would be" } else { "were" };
    writeln!(
        out,
        "of {} erased conversations, {} commits that still stood {verb} erased, and {} removed messages on every server",
        grouped(u64::try_from(*erased).unwrap_or(u64::MAX)),
        grouped(*commits),
        grouped(*removed)
    )?;
    Ok(())
}
