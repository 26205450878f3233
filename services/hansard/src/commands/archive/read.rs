//! `hansard archive read`: the archived commits of a conversation, read from segments only.

use archive::{Reader, Store, StoreUrl, read_store};
use domain::{ConversationId, ConversationKey, Sequence, TenantId};

use crate::commands::commit_printer::{CommitFormat, CommitPrinter};
use crate::commands::stores::{ArchiveAddress, RecordAddress, STORE, store_url};
use crate::exit::Exit;
use crate::ids::{conversation, key, tenant};

/// Print the archived commits of a conversation as JSON Lines or as a chat, oldest first.
///
/// With `--from`, only that store is read: neither NATS nor Postgres is needed. The output contains message contents.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard archive read --tenant acme --conversation c-1
  hansard archive read --tenant acme --conversation c-1 --from file:///copies/archive --format transcript")]
pub(super) struct Args {
    /// Tenant of the conversation.
    #[arg(long, value_parser = tenant)]
    tenant: TenantId,
    /// Id of the conversation.
    #[arg(long, value_parser = conversation)]
    conversation: ConversationId,
    /// Read all segments of this store, without the record.
    #[arg(long, value_name = STORE, value_parser = store_url, conflicts_with = "archive_url")]
    from: Option<StoreUrl>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = CommitFormat::Json)]
    format: CommitFormat,
    #[command(flatten)]
    record: RecordAddress,
    #[command(flatten)]
    archive: ArchiveAddress,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let key = key(&args.tenant, &args.conversation);
    let mut reader = open(&args, &key).await?;
    let mut printer = CommitPrinter::new(args.format);
    while let Some(message) = reader.next().await? {
        printer.print(&message.message)?;
    }
    Ok(Exit::Done)
}

async fn open(args: &Args, key: &ConversationKey) -> anyhow::Result<Reader> {
    if let Some(url) = &args.from {
        return Ok(read_store(&Store::open(url)?, key).await?);
    }
    let record = args.record.open("hansard-archive").await?;
    let archive = args.archive.of(&record);
    let partition = archive.partition_of(key).await?;
    let reader = archive.read(partition, Sequence(0)).await?;
    Ok(reader.only(key.clone()))
}
