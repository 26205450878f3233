//! `hansard archive list`: the sealed segments.

use std::io::Write as _;

use archive::{Archive, CataloguedSegment};
use indicatif::HumanBytes;

use super::report::object;
use crate::commands::stores::RecordAddress;
use crate::exit::Exit;
use crate::progress::grouped;
use crate::{console, table};

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
    let mut out = console::out();
    if args.json {
        for segment in &segments {
            writeln!(out, "{}", object(segment))?;
        }
        return Ok(Exit::Done);
    }
    let header = [
        "SEGMENT",
        "PARTITION",
        "SEQUENCES",
        "CONVERSATIONS",
        "COMMITS",
        "SIZE",
        "MADE",
        "RECORD",
        "STORE",
    ];
    let rows: Vec<_> = segments.iter().map(row).collect();
    table::write(&mut out, header, &rows)?;
    Ok(Exit::Done)
}

fn row(segment: &CataloguedSegment) -> [String; 9] {
    let (entry, sealed) = (&segment.catalogued.entry, &segment.sealed);
    let held = if sealed.is_trimmed {
        "trimmed"
    } else {
        "not trimmed"
    };
    [
        entry.segment.to_string(),
        entry.partition.to_string(),
        format!("{} to {}", sealed.first_sequence, sealed.last_sequence),
        grouped(sealed.conversations),
        grouped(sealed.commits),
        HumanBytes(sealed.size_bytes).to_string(),
        sealed.made_at.clone(),
        held.to_owned(),
        entry.store.clone(),
    ]
}
