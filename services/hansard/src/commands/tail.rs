//! `hansard tail`: prints commits of the record. Reads NATS directly, without a service.

use futures::stream::StreamExt as _;

use super::commit_printer::{CommitFormat, CommitPrinter};
use super::stores::{ArchiveAddress, RecordAddress};
use crate::exit::Exit;
use crate::selection::{Positions, ReadUntil, Selection, messages};

/// Print commits of the record as JSON Lines or as chats, oldest first.
///
/// Archived commits are read from the archive. Each line has the position, the envelope and the events of a commit. Selects one
/// conversation, tenant or partition, or all partitions; commits are ordered within each partition. The output contains message
/// contents.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard tail --partition 3 --after 1000 | head
  hansard tail --tenant acme --conversation c-1 --format transcript
  hansard tail --tenant acme --since 2026-09-21T14:00:00Z --until 2026-09-21T15:00:00Z
  hansard tail --follow | jq -r '[.partition, .sequence, .envelope.conversationId] | @tsv'")]
pub(crate) struct Args {
    #[command(flatten)]
    record: RecordAddress,
    #[command(flatten)]
    archive: ArchiveAddress,
    #[command(flatten)]
    selection: Selection,
    /// Continue with new commits until interrupted.
    #[arg(long, conflicts_with = "until")]
    follow: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = CommitFormat::Json)]
    format: CommitFormat,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-tail").await?;
    let until = if args.follow { ReadUntil::Interrupted } else { ReadUntil::Now };
    let archive = args.archive.of(&record);
    let mut messages = messages(&archive, &args.selection, &Positions::new(), until).await?;
    let mut printer = CommitPrinter::new(args.format);
    while let Some(selected) = messages.next().await {
        printer.print(&selected?.message)?;
    }
    Ok(Exit::Done)
}
