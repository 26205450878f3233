//! `hansard erase verify-receipt`: whether a receipt is genuine, and still true.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::anyhow;
use archive::Archive;
use domain::{ConversationId, ConversationKey, Status, TenantId};
use event_log::Record;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::json;

use crate::commands::stores::{ArchiveAddress, RecordAddress};
use crate::console;
use crate::erase::keys::public_keys;
use crate::erase::receipt::{Entry, Signed};
use crate::exit::Exit;

/// Conversations that are looked at at a time.
const READS_IN_FLIGHT: usize = 32;

/// What to check.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The receipt.
    file: PathBuf,
    /// Check the signature alone, against this key in hexadecimal digits, without the record.
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
    let (is_genuine, standing) = if let Some(public_key) = &args.public_key {
        (signed.is_by(public_key), Vec::new())
    } else {
        let record = args.record.open("hansard-erase").await?;
        let keys = record.receipt_keys_made().await?;
        let is_genuine = keys.is_some_and(|keys| signed.is_by_any(&public_keys(&keys)));
        (
            is_genuine,
            standing(&args.archive.of(&record), &signed).await?,
        )
    };
    let mut out = console::out();
    if args.json {
        let told = json!({
            "genuine": is_genuine,
            "conversations": signed.receipt.conversations.len(),
            "standing": standing,
        });
        writeln!(out, "{told}")?;
    } else if !is_genuine {
        writeln!(out, "not genuine: it was changed, or is of another record")?;
    } else if standing.is_empty() {
        let count = signed.receipt.conversations.len();
        writeln!(out, "genuine: {count} conversations, none of which stands")?;
    } else {
        writeln!(out, "genuine, but these stand: {}", standing.join(", "))?;
    }
    let is_true = is_genuine && standing.is_empty();
    Ok(if is_true { Exit::Done } else { Exit::Differs })
}

/// The conversations of a receipt that the record holds more of than a tombstone, or that are in an archived segment.
async fn standing(archive: &Archive, signed: &Signed) -> anyhow::Result<Vec<String>> {
    let entries = &signed.receipt.conversations;
    let looks = stream::iter(entries)
        .map(|entry| stands(archive.record(), entry))
        .buffered(READS_IN_FLIGHT);
    let standing: Vec<Option<String>> = looks.try_collect().await?;
    let keys: anyhow::Result<BTreeSet<ConversationKey>> = entries.iter().map(key_of).collect();
    let held = archive.held(&keys?).await?;
    let held = held.iter().map(|key| key.conversation.as_str().to_owned());
    let all: BTreeSet<String> = standing.into_iter().flatten().chain(held).collect();
    Ok(all.into_iter().collect())
}

fn key_of(entry: &Entry) -> anyhow::Result<ConversationKey> {
    Ok(ConversationKey {
        tenant: TenantId::parse(entry.tenant.as_str())
            .map_err(|violation| anyhow!(violation.description))?,
        conversation: ConversationId::parse(entry.conversation.as_str())
            .map_err(|violation| anyhow!(violation.description))?,
    })
}

async fn stands(record: &Record, entry: &Entry) -> anyhow::Result<Option<String>> {
    let key = key_of(entry)?;
    let last = record.last_from_leader(&key).await?;
    let head = last.map(|last| last.open_head()).transpose()?;
    let is_gone = head.is_none_or(|head| head.status == Status::Erased);
    let is_alone = record.commits_of(&key).await? <= 1;
    Ok((!is_gone || !is_alone).then(|| entry.conversation.clone()))
}
