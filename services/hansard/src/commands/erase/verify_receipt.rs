//! `hansard erase verify-receipt`: checks whether a receipt is genuine and still true.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Error;
use archive::Archive;
use domain::{ConversationKey, Status};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::json;

use crate::commands::stores::{ArchiveAddress, RecordAddress};
use crate::erase::Entry;
use crate::erase::keys::public_keys;
use crate::erase::receipt::Signed;
use crate::exit::Exit;
use crate::{console, ids};

/// Conversations that are read concurrently.
const READS_IN_FLIGHT: usize = 32;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// File with the receipt.
    file: PathBuf,
    /// Check only the signature, with this hexadecimal key and without the record.
    #[arg(long, value_name = "HEX")]
    public_key: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    record: RecordAddress,
    #[command(flatten)]
    archive: ArchiveAddress,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let signed = Signed::read(&args.file)?;
    let (is_genuine, remaining) = if let Some(public_key) = &args.public_key {
        (signed.is_by(public_key), Vec::new())
    } else {
        let record = args.record.open("hansard-erase").await?;
        let keys = record.existing_receipt_keys().await?;
        let is_genuine = keys.is_some_and(|keys| signed.is_by_any(&public_keys(&keys)));
        let remaining = remaining(&args.archive.of(&record), &signed).await?;
        (is_genuine, remaining)
    };
    let mut out = console::out();
    let count = signed.receipt.conversations.len();
    if args.json {
        let output = json!({"genuine": is_genuine, "conversations": count, "standing": remaining});
        writeln!(out, "{output}")?;
    } else if !is_genuine {
        let text = "not genuine: it was changed, or belongs to another record";
        writeln!(out, "{text}")?;
    } else if remaining.is_empty() {
        writeln!(out, "genuine: {count} conversations, all erased")?;
    } else {
        writeln!(out, "genuine, but not erased: {}", remaining.join(", "))?;
    }
    Ok(Exit::Differs.when(!is_genuine || !remaining.is_empty()))
}

/// The conversations of a receipt of which the record holds more than a tombstone, or an archived segment holds commits.
async fn remaining(archive: &Archive, signed: &Signed) -> anyhow::Result<Vec<String>> {
    let entries = &signed.receipt.conversations;
    let reads = stream::iter(entries).map(|entry| remains(archive, entry)).buffered(READS_IN_FLIGHT);
    let in_record: Vec<Option<String>> = reads.try_collect().await?;
    let keys: anyhow::Result<BTreeSet<ConversationKey>> = entries.iter().map(key).collect();
    let archived = archive.find_archived(&keys?).await?;
    let held = archived.iter().map(|key| key.conversation.as_str().to_owned());
    let all: BTreeSet<String> = in_record.into_iter().flatten().chain(held).collect();
    Ok(all.into_iter().collect())
}

fn key(entry: &Entry) -> anyhow::Result<ConversationKey> {
    Ok(ConversationKey {
        tenant: ids::tenant(&entry.tenant).map_err(Error::msg)?,
        conversation: ids::conversation(&entry.conversation).map_err(Error::msg)?,
    })
}

async fn remains(archive: &Archive, entry: &Entry) -> anyhow::Result<Option<String>> {
    let key = key(entry)?;
    let last = archive.last_commit(&key).await?;
    let head = last.map(|last| last.open_head()).transpose()?;
    let is_gone = head.is_none_or(|head| head.status == Status::Erased);
    let is_alone = archive.record().commits_of(&key).await? <= 1;
    Ok((!is_gone || !is_alone).then(|| entry.conversation.clone()))
}
