//! `hansard archive read`: a conversation's archived commits, out of segments alone.

use std::io::Write as _;

use archive::segment::ArchivedMessage;
use archive::{Reader, Store, StoreUrl, read_store};
use clap::ValueEnum;
use domain::{ConversationId, ConversationKey, Sequence, TenantId};

use crate::commands::stores::{ArchiveAddress, RecordAddress, STORE, store_url};
use crate::console;
use crate::exit::Exit;
use crate::ids::{conversation, tenant};
use crate::view::commit;
use crate::view::transcript::Transcript;

/// Print what segments hold of a conversation, as JSON Lines or as a chat, oldest first.
///
/// With `--from`, nothing but that store is read: neither the record nor Postgres has to be there. Message contents are shown:
/// mind who reads along.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard archive read --tenant acme --conversation c-1
  hansard archive read --tenant acme --conversation c-1 --from file:///copies/archive --format transcript")]
pub(super) struct Args {
    /// The conversation's tenant.
    #[arg(long, value_parser = tenant)]
    tenant: TenantId,
    /// The conversation.
    #[arg(long, value_parser = conversation)]
    conversation: ConversationId,
    /// Read all segments of this store, without the record.
    #[arg(long, value_name = STORE, value_parser = store_url, conflicts_with = "archive_url")]
    from: Option<StoreUrl>,
    /// How commits are printed.
    #[arg(long, value_enum, default_value_t = Form::Json)]
    format: Form,
    #[command(flatten)]
    record: RecordAddress,
    #[command(flatten)]
    archive: ArchiveAddress,
}

/// How commits are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A line of JSON each.
    Json,
    /// As people read a chat.
    Transcript,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let key = ConversationKey {
        tenant: args.tenant.clone(),
        conversation: args.conversation.clone(),
    };
    let mut reader = open(&args, &key).await?;
    let mut transcript = Transcript::default();
    while let Some(message) = reader.next().await? {
        print(args.format, &mut transcript, &message)?;
    }
    Ok(Exit::Done)
}

async fn open(args: &Args, key: &ConversationKey) -> anyhow::Result<Reader> {
    if let Some(url) = &args.from {
        return Ok(read_store(&Store::open(url)?, key).await?);
    }
    let record = args.record.open("hansard-archive").await?;
    let archive = args.archive.of(&record);
    let partition = record.partition_of(key);
    let reader = archive.read(partition, Sequence(0)).await?;
    Ok(reader.only(key.clone()))
}

fn print(form: Form, transcript: &mut Transcript, message: &ArchivedMessage) -> anyhow::Result<()> {
    let message = &message.message;
    match form {
        Form::Json => writeln!(console::out(), "{}", commit::json_of(message)?)?,
        Form::Transcript => transcript.write(&mut console::out(), &commit::open(message)?)?,
    }
    Ok(())
}
