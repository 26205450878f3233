//! `hansard archive list`: the sealed segments.

use archive::{Archive, CataloguedSegment};
use indicatif::HumanBytes;

use super::report::object;
use crate::commands::stores::RecordAddress;
use crate::exit::Exit;
use crate::progress::grouped;
use crate::table;

/// List the segments in the record's catalogue.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard archive list
  hansard archive list --json | jq -s 'map(.commits) | add'")]
pub(super) struct Args {
    /// Print each segment as a JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    record: RecordAddress,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-archive").await?;
    let segments = Archive::of(&record).segments(None).await?;
    let header = ["SEGMENT", "PARTITION", "SEQUENCES", "CONVERSATIONS", "COMMITS", "SIZE", "MADE", "RECORD", "STORE"];
    table::print_list(&segments, args.json.then_some(object), header, row)?;
    Ok(Exit::Done)
}

fn row(segment: &CataloguedSegment) -> [String; 9] {
    let (entry, sealed) = (&segment.catalogued.entry, &segment.sealed);
    let not = if sealed.is_trimmed { "" } else { "not " };
    [
        entry.segment.to_string(),
        entry.partition.to_string(),
        format!("{} to {}", sealed.first_sequence, sealed.last_sequence),
        grouped(sealed.conversations),
        grouped(sealed.commits),
        HumanBytes(sealed.size_bytes).to_string(),
        sealed.made_at.clone(),
        format!("{not}trimmed"),
        entry.store.clone(),
    ]
}
