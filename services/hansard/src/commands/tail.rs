//! `hansard tail`: the record as it is, commit by commit. Reads NATS itself, with no service in between.

use std::io::Write as _;

use clap::ValueEnum;
use event_log::StoredMessage;
use futures::stream::StreamExt as _;

use super::stores::{ArchiveAddress, RecordAddress};
use crate::console;
use crate::exit::Exit;
use crate::selection::{Places, Reach, Selection, messages};
use crate::view::commit;
use crate::view::transcript::Transcript;

/// Print commits of the record as JSON Lines, or as chats, oldest first.
///
/// What is in the archive is read there. Each line has a commit's place, envelope and events. Prints what one conversation, tenant or partition holds, or all
/// partitions at once, in which case the order is that of each partition. Message contents are shown: mind who reads along.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard tail --partition 3 --after 1000 | head
  hansard tail --tenant acme --conversation c-1 --format transcript
  hansard tail --tenant acme --since 2026-09-21T14:00:00Z --until 2026-09-21T15:00:00Z
  hansard tail --follow | jq -r '[.partition, .sequence, .envelope.conversationId] | @tsv'")]
pub struct Args {
    #[command(flatten)]
    record: RecordAddress,
    #[command(flatten)]
    archive: ArchiveAddress,
    #[command(flatten)]
    selection: Selection,
    /// Go on with what comes, until interrupted.
    #[arg(long, conflicts_with = "until")]
    follow: bool,
    /// How commits are printed.
    #[arg(long, value_enum, default_value_t = Form::Json)]
    format: Form,
}

/// How commits are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A line of JSON each.
    Json,
    /// As people read a chat: times, speakers, words, calls and results.
    Transcript,
}

/// Runs the command.
///
/// # Errors
/// The record cannot be reached or holds a message that is no commit.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-tail").await?;
    let reach = if args.follow {
        Reach::Future
    } else {
        Reach::Present
    };
    let archive = args.archive.of(&record);
    let mut messages = messages(&archive, &args.selection, &Places::new(), reach).await?;
    let mut transcript = Transcript::default();
    while let Some(chosen) = messages.next().await {
        print(args.format, &mut transcript, &chosen?.message)?;
    }
    Ok(Exit::Done)
}

fn print(form: Form, transcript: &mut Transcript, message: &StoredMessage) -> anyhow::Result<()> {
    match form {
        Form::Json => writeln!(console::out(), "{}", commit::json_of(message)?)?,
        Form::Transcript => transcript.write(&mut console::out(), &commit::open(message)?)?,
    }
    Ok(())
}
