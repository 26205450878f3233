//! Reads the archived commits of a selection, and merges them with those of the record.

use std::pin::Pin;

use archive::{Archive, ArchiveError, Reader};
use domain::{ConversationKey, Timestamp};
use futures::stream::{self, BoxStream, Peekable, StreamExt as _};
use uuid::Uuid;

use super::{Messages, SelectedMessage, SequenceRange, Times};
use crate::console;
use crate::progress::grouped;

/// The archived commits of a range, of one conversation or of all.
pub(super) async fn archived(
    archive: &Archive,
    range: SequenceRange,
    times: Times,
    key: Option<&ConversationKey>,
) -> Result<Messages, ArchiveError> {
    let mut reader = archive.read(range.partition, range.archived_after).await?;
    if let Some(key) = key {
        reader = reader.only(key.clone());
    }
    let messages = stream::unfold(Some(reader), move |reader| next(reader, range, times));
    Ok(messages.boxed())
}

type Next = Option<(anyhow::Result<SelectedMessage>, Option<Reader>)>;

async fn next(reader: Option<Reader>, range: SequenceRange, times: Times) -> Next {
    let mut reader = reader?;
    loop {
        let message = match reader.next().await {
            Ok(message) => message?,
            Err(error) => return Some((Err(error.into()), None)),
        };
        if message.sequence() > range.archived_through {
            return None;
        }
        if times.contains(message.stored_at) {
            let selected = SelectedMessage { key: Some(message.key), message: message.message };
            return Some((Ok(selected), Some(reader)));
        }
    }
}

impl Times {
    fn contains(self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
    }
}

/// Merges both by sequence, without duplicates. An interrupted trim leaves commits in both.
pub(super) fn merged(archived: Messages, recorded: Messages) -> Messages {
    let both = (archived.peekable(), recorded.peekable());
    let merged = stream::unfold(both, |(mut archived, mut recorded)| async move {
        let item = earlier(&mut archived, &mut recorded).await?;
        Some((item, (archived, recorded)))
    });
    merged.boxed()
}

type Source = Peekable<BoxStream<'static, anyhow::Result<SelectedMessage>>>;

async fn earlier(archived: &mut Source, recorded: &mut Source) -> Option<anyhow::Result<SelectedMessage>> {
    let Some(first) = Pin::new(&mut *archived).peek().await else {
        return recorded.next().await;
    };
    let Ok(first) = first.as_ref().map(sequence) else {
        return archived.next().await;
    };
    let other = Pin::new(&mut *recorded).peek().await;
    match other.and_then(|other| other.as_ref().ok()).map(sequence) {
        Some(other) if other == first => {
            archived.next().await;
            recorded.next().await
        }
        Some(other) if other < first => recorded.next().await,
        _ => archived.next().await,
    }
}

fn sequence(selected: &SelectedMessage) -> u64 {
    selected.message.position.sequence.0
}

/// The segments of the ranges' partitions, and whether each is trimmed from its stream.
pub(super) async fn segments(archive: &Archive, ranges: &[SequenceRange]) -> Result<Vec<(Uuid, bool)>, ArchiveError> {
    let mut segments = Vec::new();
    for segment in archive.segments(None).await? {
        let partition = segment.partition();
        if ranges.iter().any(|range| range.partition == partition) {
            segments.push((segment.catalogued.entry.segment, segment.sealed.is_trimmed));
        }
    }
    segments.sort_unstable();
    Ok(segments)
}

/// Warns about archived commits of the ranges if the archive is not read.
pub(super) async fn warn_about_archived(archive: &Archive, ranges: &[SequenceRange]) -> Result<(), ArchiveError> {
    let mut omitted = 0;
    for segment in archive.segments(None).await? {
        let sealed = &segment.sealed;
        let overlaps = |range: &SequenceRange| {
            range.partition == segment.partition()
                && sealed.last_sequence > range.after.0
                && sealed.first_sequence <= range.through.0
        };
        if sealed.is_trimmed && ranges.iter().any(overlaps) {
            omitted += sealed.commits;
        }
    }
    if omitted > 0 {
        let omitted = grouped(omitted);
        let text = format!("archived segments with {omitted} commits of this range are not read");
        console::print_error(&text);
    }
    Ok(())
}
