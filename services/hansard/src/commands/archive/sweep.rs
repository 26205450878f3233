//! `hansard archive sweep`: erased conversations leave their segments.

use std::io::Write as _;

use serde_json::json;

use super::lock;
use crate::commands::stores::Stores;
use crate::console;
use crate::exit::Exit;
use crate::progress::grouped;

/// Take conversations that are erased out of their segments.
///
/// `hansard erase` does so for what it erases, before it signs its receipt; `hansard archive run` begins with it. This is for
/// conversations that callers erased, when the next run is too long to wait for. A segment is written anew without them, read
/// back and compared, told in the catalogue, and its former object is removed. What a run or an erasure that was cut short has left goes, too.
/// Objects that the catalogue does not know are told, also where it is empty and `--archive` names a store. Killed at any
/// moment, run it again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard archive sweep --dry-run
  hansard archive sweep")]
pub(super) struct Args {
    /// Say what would go, and change nothing.
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
    let lock = if args.dry_run {
        None
    } else {
        Some(lock(&model).await?)
    };
    let erased = archive.erased_in(None).await?;
    let swept = if lock.is_some() {
        archive.tidy(None).await?;
        archive.sweep(&erased).await?
    } else {
        archive::Swept::default()
    };
    let unknown = archive.unknown_objects().await?;
    let mut out = console::out();
    if args.json {
        let unknown: Vec<&str> = unknown.iter().map(|(_, object)| object.as_str()).collect();
        let told = json!({
            "erased": erased.len(), "segments": swept.segments, "commits": swept.commits, "swept": lock.is_some(),
            "unknown": unknown,
        });
        writeln!(out, "{told}")?;
        return Ok(Exit::Done);
    }
    let count = erased.len();
    writeln!(out, "erased conversations found in segments: {count}")?;
    writeln!(
        out,
        "segments written anew: {}, commits that are gone: {}",
        grouped(swept.segments),
        grouped(swept.commits)
    )?;
    for (store, object) in unknown {
        writeln!(
            out,
            "the catalogue does not know {object} in {store}: no erasure reaches it, remove it by hand"
        )?;
    }
    Ok(Exit::Done)
}
