//! Writing a backup while writers continue: the snapshot of each stream has its own time.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, ensure};
use domain::Timestamp;
use event_log::Record;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use ring::digest;
use runtime::clock::Clock;

use super::manifest::{ArchivedStream, Manifest};
use crate::erase::keys::{public_keys, receipt_keys};
use crate::erase::receipt::rfc3339;
use crate::progress::{Progress, grouped};

/// Streams that are copied at a time: enough for all streams of a usual record, so that the times of their snapshots are
/// close. A fork whose parent was copied earlier may continue a version that the backup does not contain.
const STREAMS_IN_FLIGHT: usize = 16;

/// Writes a backup of the record into a new or empty folder.
pub(crate) async fn write(
    record: &Record,
    folder: &Path,
    progress: &mut Progress,
) -> anyhow::Result<Manifest> {
    let name = folder.display();
    fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {name}"))?;
    let is_empty = fs::read_dir(folder)?.next().is_none();
    ensure!(
        is_empty,
        "the folder {name} is not empty: name a new or empty folder"
    );
    let begun_at = rfc3339(Timestamp(Clock::System.now_nanos()));
    // Creates the key if there is none, so that the backup contains the key of every later receipt.
    let receipt_keys = public_keys(&receipt_keys(record).await?);
    let id = hex::encode(record.id().0);
    let mut manifest = Manifest::new(id, record.partitions(), begun_at, receipt_keys);
    let mut names = record.stream_names();
    // The registry is copied last: it then has every tenant and agent that the conversations name. The archive's catalogue
    // is copied before it: it then lists every segment whose commits were trimmed from the other streams meanwhile.
    let registry = names.pop();
    let catalogue = names.pop();
    let mut copies = stream::iter(names)
        .map(|name| archive(record, folder, name))
        .buffer_unordered(STREAMS_IN_FLIGHT);
    while let Some(archived) = copies.try_next().await? {
        add(&mut manifest, archived, progress);
    }
    for name in catalogue.into_iter().chain(registry) {
        let archived = archive(record, folder, name).await?;
        add(&mut manifest, archived, progress);
    }
    let entries = record.archive_entries(None).await?.into_iter();
    manifest.catalogue = Some(entries.map(|one| one.entry).collect());
    // The first partition holds the record's metadata. It is restored last: writers cannot open a partly restored record.
    let first = record.stream_names().into_iter().next();
    manifest
        .streams
        .sort_by_key(|stream| Some(&stream.name) == first.as_ref());
    manifest
        .write(folder)
        .with_context(|| format!("cannot write to {name}"))?;
    Ok(manifest)
}

fn add(manifest: &mut Manifest, archived: ArchivedStream, progress: &mut Progress) {
    manifest.streams.push(archived);
    let bytes = manifest.size_bytes();
    let done = u64::try_from(manifest.streams.len()).unwrap_or(u64::MAX);
    progress.advance(done, || format!("{} bytes", grouped(bytes)));
}

async fn archive(record: &Record, folder: &Path, name: String) -> anyhow::Result<ArchivedStream> {
    let mut snapshot = record.snapshot(&name).await?;
    let file = format!("{name}.archive");
    let unwritable = || format!("cannot write {file} into {}", folder.display());
    let mut written = File::create_new(folder.join(&file)).with_context(unwritable)?;
    let mut sum = digest::Context::new(&digest::SHA256);
    let mut size_bytes = 0_u64;
    while let Some(piece) = snapshot.next().await? {
        written.write_all(&piece).with_context(unwritable)?;
        sum.update(&piece);
        size_bytes = size_bytes.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
    }
    written.sync_all().with_context(unwritable)?;
    Ok(ArchivedStream {
        sha256: hex::encode(sum.finish()),
        messages: snapshot.description.messages(),
        last_sequence: snapshot.description.last_sequence(),
        description: snapshot.description,
        size_bytes,
        name,
        file,
    })
}
