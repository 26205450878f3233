//! Writing a backup while writers continue: the snapshot of each stream has its own time.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, ensure};
use domain::Layout;
use event_log::{CopyOrder, Outage, Record, Unavailable};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use ring::digest;

use super::{ArchivedStream, Manifest};
use crate::erase::keys::{public_keys, receipt_keys};
use crate::progress::{Progress, grouped};
use crate::view::when::{now, rfc3339};

/// Streams that are copied at a time: enough for all streams of a usual record, so that the times of their snapshots are
/// close. A fork whose parent was copied earlier may continue a version that the backup does not contain.
const STREAMS_IN_FLIGHT: usize = 16;

/// Writes a backup of the record into a new or empty folder.
pub(crate) async fn write(record: &Record, folder: &Path, progress: &mut Progress) -> anyhow::Result<Manifest> {
    let name = folder.display();
    fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {name}"))?;
    ensure!(fs::read_dir(folder)?.next().is_none(), "the folder {name} is not empty: name a new or empty folder");
    let begun_at = rfc3339(now());
    // Creates the key if there is none, so that the backup contains the key of every later receipt.
    let receipt_keys = public_keys(&receipt_keys(record).await?);
    let id = hex::encode(record.id().0);
    let layout = record.read_layout().await?;
    let mut manifest = Manifest::new(id, layout.partitions(), begun_at, receipt_keys);
    let CopyOrder { first, last } = CopyOrder::of(&layout);
    let partition_0 = first.first().cloned();
    let copy = |name| archive_with_retries(record, folder, name);
    let mut copies = stream::iter(first)
        .map(copy)
        .buffer_unordered(STREAMS_IN_FLIGHT)
        .chain(stream::iter(last).map(copy).buffered(1));
    while let Some(archived) = copies.try_next().await? {
        manifest.streams.push(archived);
        let done = u64::try_from(manifest.streams.len()).unwrap_or(u64::MAX);
        progress.advance(done, || format!("{} bytes", grouped(manifest.size_bytes())));
    }
    let entries = record.archive_entries(None).await?.into_iter();
    manifest.catalogue = Some(entries.map(|one| one.entry).collect());
    let at_end = record.read_layout().await?;
    check_unchanged(&layout, &at_end)?;
    // Partition 0 holds the record's metadata. It is restored last: writers cannot open a partly restored record.
    let is_partition_0 = |stream: &ArchivedStream| Some(&stream.name) == partition_0.as_ref();
    manifest.streams.sort_by_key(is_partition_0);
    manifest.write(folder).with_context(|| format!("cannot write to {name}"))?;
    Ok(manifest)
}

/// Fails if partitions were added meanwhile: the backup has not all of them, and conversations are created in them.
fn check_unchanged(at_start: &Layout, at_end: &Layout) -> anyhow::Result<()> {
    ensure!(
        at_start == at_end,
        "partitions were added during the backup: when `hansard partitions add` has ended, back up to another folder"
    );
    Ok(())
}

/// Archives a stream. An interrupted snapshot is begun again.
async fn archive_with_retries(record: &Record, folder: &Path, name: String) -> anyhow::Result<ArchivedStream> {
    let mut outage = Outage::default();
    loop {
        let archived = archive(record, folder, name.clone()).await;
        let is_outage = archived.as_ref().is_err_and(anyhow::Error::is::<Unavailable>);
        if !(is_outage && outage.wait().await) {
            return archived;
        }
    }
}

async fn archive(record: &Record, folder: &Path, name: String) -> anyhow::Result<ArchivedStream> {
    let mut snapshot = record.snapshot(&name).await?;
    let file = format!("{name}.archive");
    let unwritable = || format!("cannot write {file} into {}", folder.display());
    let mut written = File::create(folder.join(&file)).with_context(unwritable)?;
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

#[cfg(test)]
mod tests {
    use domain::Stage;

    use super::*;

    #[test]
    fn a_backup_fails_when_partitions_are_added_meanwhile() {
        let grown = |stage| Layout::from_parts(&[8, 24], stage).unwrap();
        let check = |at_start: Layout, at_end: Layout, expected: Option<&str>| {
            let problem = check_unchanged(&at_start, &at_end).err().map(|error| error.to_string());
            assert_eq!(problem.is_some(), expected.is_some(), "{problem:?}");
            let problem = problem.unwrap_or_default();
            assert!(problem.contains(expected.unwrap_or_default()), "{problem}");
        };
        let again = Some("back up to another folder");
        check(Layout::new(8), Layout::new(8), None);
        check(grown(Stage::Open), grown(Stage::Open), None);
        check(Layout::new(8), grown(Stage::Announced), again);
        check(grown(Stage::Announced), grown(Stage::Closing), again);
        check(grown(Stage::Closing), grown(Stage::Open), again);
    }
}
