//! `hansard archive sweep`: removes erased conversations from segments.

use std::io::Write as _;

use serde_json::json;

use crate::commands::stores::Stores;
use crate::console;
use crate::exit::Exit;
use crate::progress::grouped;

/// Remove erased conversations from their segments.
///
/// `hansard erase` does this before it signs a receipt, and `hansard archive run` starts with it. Use this command for
/// conversations that callers erased, if the next run is too late. Each affected segment is written again without them, read
/// back, compared and replaced in the catalogue; then its old object is deleted. Leftovers of interrupted runs and erasures
/// are deleted as well. Objects that are not in the catalogue are listed; if the catalogue is empty, name their store by
/// `--archive`. After an interruption, run the same command again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard archive sweep --dry-run
  hansard archive sweep")]
pub(super) struct Args {
    /// Print what would be removed, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    stores: Stores,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let archive = args.stores.open_archive("hansard-archive").await?;
    let model = args.stores.read_model.open()?;
    let mut lock = None;
    if !args.dry_run {
        lock = Some(super::databases::lock_first(&model).await?);
    }
    let erased = archive.erased_conversations(None).await?;
    let mut swept = archive::SweepResult::default();
    if lock.is_some() {
        archive.tidy(None).await?;
        swept = archive.sweep(&erased).await?;
    }
    let unknown = archive.unknown_objects().await?;
    let count = erased.len();
    let mut out = console::out();
    if args.json {
        let unknown: Vec<&str> = unknown.iter().map(|(_, object)| object.as_str()).collect();
        let output = json!({
            "erased": count, "segments": swept.segments, "commits": swept.commits, "swept": lock.is_some(),
            "unknown": unknown,
        });
        writeln!(out, "{output}")?;
        return Ok(Exit::Done);
    }
    writeln!(out, "erased conversations found in segments: {count}")?;
    let (segments, commits) = (grouped(swept.segments), grouped(swept.commits));
    writeln!(out, "segments rewritten: {segments}, commits removed: {commits}")?;
    for (store, object) in unknown {
        writeln!(out, "{object} in {store} is not in the catalogue: erasures do not reach it, delete it by hand")?;
    }
    Ok(Exit::Done)
}
