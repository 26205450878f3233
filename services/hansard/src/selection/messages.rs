//! Reads the selected commits: ordered within each partition, interleaved across partitions.

use archive::Archive;
use domain::{ConversationKey, Partition, Sequence};
use event_log::{FollowedMessage, Record, TailBounds, Unavailable, without_outages};
use futures::TryStreamExt as _;
use futures::stream::{self, BoxStream, SelectAll, Stream, StreamExt as _};
use uuid::Uuid;

use super::{Messages, Positions, SelectedMessage, Selection, SequenceRange, archived};
use crate::console;

/// When reading ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadUntil {
    /// At the current end of the record.
    Now,
    /// Never: new commits follow until the command is interrupted.
    Interrupted,
}

/// Reads the commits of `selection` after `positions`, including archived ones unless the selection excludes them. A lost
/// server is reported on standard error and awaited: for the past at most [`event_log::OUTAGE_MAX`], for new commits without end.
pub(crate) async fn messages(
    archive: &Archive,
    selection: &Selection,
    positions: &Positions,
    until: ReadUntil,
) -> anyhow::Result<Messages> {
    let mut all = SelectAll::new();
    let record = archive.record();
    let ranges = selection.ranges(archive, positions).await?;
    let key = selection.key();
    let segments = archived::segments(archive, &ranges).await?;
    if selection.without_archive {
        archived::warn_about_archived(archive, &ranges).await?;
    }
    for range in &ranges {
        let recorded = match &key {
            Some(key) => of_conversation(record, key.clone(), *range),
            None => of_partition(record, *range).await?,
        };
        let past = if selection.without_archive {
            recorded
        } else {
            let times = selection.times;
            let archived = archived::archived(archive, *range, times, key.as_ref()).await?;
            let ended = unchanged(archive.clone(), *range, segments.clone());
            archived::merged(archived, recorded).chain(ended).boxed()
        };
        all.push(match until {
            ReadUntil::Now => past,
            ReadUntil::Interrupted => past.chain(future(record, *range)).boxed(),
        });
    }
    let (tenant, key) = (selection.tenant.clone(), key);
    let is_selected = move |selected: &SelectedMessage| match (&key, &tenant) {
        (Some(key), _) => selected.key.as_ref() == Some(key),
        (None, Some(tenant)) => selected.key.as_ref().map(|key| &key.tenant) == Some(tenant),
        (None, None) => true,
    };
    let all = all.filter(move |item| {
        // A message that closes a subject is no commit.
        let passes =
            item.as_ref().map_or(true, |selected| !selected.message.message.is_empty() && is_selected(selected));
        std::future::ready(passes)
    });
    Ok(all.boxed())
}

/// Returns an error if commits of a range were archived while it was read, because some of them may have been missed in both.
fn unchanged(archive: Archive, range: SequenceRange, before: Vec<(Uuid, bool)>) -> Messages {
    let check = async move {
        match archived::segments(&archive, &[range]).await {
            Ok(now) if now.iter().all(|segment| before.contains(segment)) => None,
            Ok(_) => Some(Err(anyhow::anyhow!(
                "commits of partition {} were archived during the read and may be missing: run the command again",
                range.partition
            ))),
            Err(error) => Some(Err(error.into())),
        }
    };
    stream::once(check).filter_map(std::future::ready).boxed()
}

/// Reads the commits of one conversation in a range, by its subject.
fn of_conversation(record: &Record, key: ConversationKey, range: SequenceRange) -> Messages {
    let record = record.clone();
    let pages = stream::unfold(Some(range.after), move |next| {
        let (record, key) = (record.clone(), key.clone());
        async move {
            let tail = record.tail(&key, next?, TailBounds::default()).await;
            let (items, next) = match tail {
                Ok(tail) => {
                    let key = Some(key);
                    let selected = tail.commits.into_iter().map(|message| {
                        let key = key.clone();
                        Ok(SelectedMessage { key, message })
                    });
                    (selected.collect(), tail.resume_after)
                }
                Err(unavailable) => (vec![Err(unavailable.into())], None),
            };
            Some((stream::iter(items), next))
        }
    });
    let within = pages.flatten().take_while(move |item| {
        let is_within = item.as_ref().map_or(true, |selected| selected.message.position.sequence <= range.through);
        std::future::ready(is_within)
    });
    within.boxed()
}

/// Reads the messages of a partition in a range.
async fn of_partition(record: &Record, range: SequenceRange) -> Result<Messages, Unavailable> {
    // An empty range would never return a message.
    let first = record.next_after(range.partition, range.after).await?;
    if first.is_none_or(|first| first.sequence > range.through) {
        return Ok(stream::empty().boxed());
    }
    let followed = without_outages(follow(record, range.partition, range.after), |_| true);
    let reading = Reading { record: record.clone(), range, followed };
    let messages = stream::unfold(Some(reading), |reading| async move {
        let mut reading = reading?;
        match reading.next().await {
            Ok(step) => step.map(|(message, is_over)| (Ok(message.into()), (!is_over).then_some(reading))),
            Err(unavailable) => Some((Err(unavailable.into()), None)),
        }
    });
    Ok(messages.boxed())
}

/// A range of a partition that is being read.
struct Reading<S> {
    record: Record,
    range: SequenceRange,
    followed: S,
}

impl<S: Stream<Item = Result<FollowedMessage, Unavailable>> + Unpin> Reading<S> {
    /// The next message, and whether it is the last one; `None`: the range has no other. The last message of the range may have been
    /// removed: a later message, or the end of the stream at its leader, is then the end.
    async fn next(&mut self) -> Result<Option<(FollowedMessage, bool)>, Unavailable> {
        let SequenceRange { partition, through, .. } = self.range;
        let Some(next) = self.followed.next().await.transpose()? else {
            return Ok(None);
        };
        let sequence = next.message.position.sequence;
        if sequence > through {
            return Ok(None);
        }
        let is_over = sequence == through
            || (next.pending == 0 && self.record.is_exhausted(partition, sequence, through).await?);
        Ok(Some((next, is_over)))
    }
}

/// Follows the messages after a range.
fn future(record: &Record, range: SequenceRange) -> Messages {
    let after = range.through.max(range.after);
    let followed = follow(record, range.partition, after);
    followed.filter_map(|item| std::future::ready(item.ok())).map(|followed| Ok(followed.into())).boxed()
}

/// Follows a partition without end, and prints its errors. It resumes after a lost server is back.
fn follow(
    record: &Record,
    partition: Partition,
    after: Sequence,
) -> BoxStream<'static, Result<FollowedMessage, Unavailable>> {
    let followed = record.follow(partition, after);
    followed.inspect_err(|unavailable| console::print_error(&unavailable.to_string())).boxed()
}
