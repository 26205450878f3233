//! The chosen commits that are in the archive, and both sources in one order.

use std::pin::Pin;

use archive::{Archive, ArchiveError, Reader};
use domain::{ConversationKey, Timestamp};
use futures::stream::{self, BoxStream, Peekable, StreamExt as _};
use uuid::Uuid;

use super::chosen::{Chosen, Messages};
use super::{Span, Times};
use crate::console;
use crate::progress::grouped;

/// What is archived of a stretch, of one conversation or of all.
///
/// # Errors
/// The catalogue cannot be read.
pub(super) async fn archived(
    archive: &Archive,
    span: Span,
    times: Times,
    key: Option<&ConversationKey>,
) -> Result<Messages, ArchiveError> {
    let reader = archive.read(span.partition, span.within.after).await?;
    let reader = match key {
        Some(key) => reader.only(key.clone()),
        None => reader,
    };
    let messages = stream::unfold(Some(reader), move |reader| next(reader, span, times));
    Ok(messages.boxed())
}

type Next = Option<(anyhow::Result<Chosen>, Option<Reader>)>;

async fn next(reader: Option<Reader>, span: Span, times: Times) -> Next {
    let mut reader = reader?;
    loop {
        let message = match reader.next().await {
            Ok(message) => message?,
            Err(error) => return Some((Err(error.into()), None)),
        };
        if message.sequence() > span.within.through {
            return None;
        }
        if times.hold(message.stored_at) {
            let chosen = Chosen {
                key: Some(message.key),
                message: message.message,
            };
            return Some((Ok(chosen), Some(reader)));
        }
    }
}

impl Times {
    fn hold(self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
    }
}

/// Both in the order of their sequences; what a trim that was cut short left in both comes once.
pub(super) fn merged(archived: Messages, recorded: Messages) -> Messages {
    let both = (archived.peekable(), recorded.peekable());
    let merged = stream::unfold(both, |(mut archived, mut recorded)| async move {
        let item = earlier(&mut archived, &mut recorded).await?;
        Some((item, (archived, recorded)))
    });
    merged.boxed()
}

type Source = Peekable<BoxStream<'static, anyhow::Result<Chosen>>>;

async fn earlier(archived: &mut Source, recorded: &mut Source) -> Option<anyhow::Result<Chosen>> {
    let Some(first) = Pin::new(&mut *archived).peek().await else {
        return recorded.next().await;
    };
    let Ok(first) = first.as_ref().map(place) else {
        return archived.next().await;
    };
    let other = Pin::new(&mut *recorded).peek().await;
    match other.and_then(|other| other.as_ref().ok()).map(place) {
        Some(other) if other == first => {
            archived.next().await;
            recorded.next().await
        }
        Some(other) if other < first => recorded.next().await,
        _ => archived.next().await,
    }
}

fn place(chosen: &Chosen) -> u64 {
    chosen.message.position.sequence.0
}

/// Which segments there are of the stretches, and which of them are not in the streams any more.
pub(super) async fn segments(
    archive: &Archive,
    spans: &[Span],
) -> Result<Vec<(Uuid, bool)>, ArchiveError> {
    let mut segments = Vec::new();
    for segment in archive.segments(None).await? {
        if spans
            .iter()
            .any(|span| span.partition == segment.partition())
        {
            segments.push((segment.catalogued.entry.segment, segment.sealed.is_trimmed));
        }
    }
    segments.sort_unstable();
    Ok(segments)
}

/// Says what of the stretches is in the archive, where only the streams are read.
///
/// # Errors
/// The catalogue cannot be read.
pub(super) async fn tell_archived(archive: &Archive, spans: &[Span]) -> Result<(), ArchiveError> {
    let mut left_out = 0;
    for segment in archive.segments(None).await? {
        let sealed = &segment.sealed;
        let is_touched = |span: &Span| {
            span.partition == segment.partition()
                && sealed.last_sequence > span.after.0
                && sealed.first_sequence <= span.through.0
        };
        if sealed.is_trimmed && spans.iter().any(is_touched) {
            left_out += sealed.commits;
        }
    }
    if left_out > 0 {
        console::complain(&format!(
            "segments of the archive with {} commits lie in this part of the record, and are not read",
            grouped(left_out)
        ));
    }
    Ok(())
}
