//! The chosen commits, read from the record: each partition's in its order, those of several partitions as they come.

use archive::Archive;
use domain::{ConversationKey, Partition, Sequence};
use event_log::{FollowedMessage, Record, TailBounds, Unavailable};
use futures::stream::{self, BoxStream, SelectAll, StreamExt as _};
use uuid::Uuid;

use super::chosen::{Chosen, Messages};
use super::{Places, Selection, Span, archived};
use crate::console;

/// How long to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// What the record holds now.
    Present,
    /// That, and what comes, for ever.
    Future,
}

/// The commits of `selection` that `places` are not past, archived ones among them unless it leaves them out. Losses of the
/// server are told on standard error and waited out, but for those while one conversation's past is read.
///
/// # Errors
/// As [`Selection::spans`], and what cannot be read of record and archive.
pub async fn messages(
    archive: &Archive,
    selection: &Selection,
    places: &Places,
    reach: Reach,
) -> anyhow::Result<Messages> {
    let mut all = SelectAll::new();
    let record = archive.record();
    let spans = selection.spans(record, places).await?;
    let key = selection.key();
    let segments = archived::segments(archive, &spans).await?;
    if selection.without_archive {
        archived::tell_archived(archive, &spans).await?;
    }
    for span in &spans {
        let recorded = match &key {
            Some(key) => of_conversation(record, key.clone(), *span),
            None => of_partition(record, *span).await?,
        };
        let past = if selection.without_archive {
            recorded
        } else {
            let times = selection.times();
            let archived = archived::archived(archive, *span, times, key.as_ref()).await?;
            let ended = unchanged(archive.clone(), *span, segments.clone());
            archived::merged(archived, recorded).chain(ended).boxed()
        };
        all.push(match reach {
            Reach::Present => past,
            Reach::Future => past.chain(future(record, *span)).boxed(),
        });
    }
    let (tenant, key) = (selection.tenant.clone(), key);
    let is_chosen = move |chosen: &Chosen| match (&key, &tenant) {
        (Some(key), _) => chosen.key.as_ref() == Some(key),
        (None, Some(tenant)) => chosen.key.as_ref().map(|key| &key.tenant) == Some(tenant),
        (None, None) => true,
    };
    let all = all.filter(move |item| {
        let passes = item.as_ref().map_or(true, &is_chosen);
        std::future::ready(passes)
    });
    Ok(all.boxed())
}

/// Nothing, or that commits went from a stretch into the archive while it was read: some were in neither when they were
/// looked for.
fn unchanged(archive: Archive, span: Span, before: Vec<(Uuid, bool)>) -> Messages {
    let look = async move {
        match archived::segments(&archive, &[span]).await {
            Ok(now) if now.iter().all(|segment| before.contains(segment)) => None,
            Ok(_) => Some(Err(anyhow::anyhow!(
                "commits were archived while partition {} was read, and some may be missing here: run it again",
                span.partition
            ))),
            Err(error) => Some(Err(error.into())),
        }
    };
    stream::once(look).filter_map(std::future::ready).boxed()
}

/// A conversation's commits in a stretch, by its subject: nothing else of the partition is read.
fn of_conversation(record: &Record, key: ConversationKey, span: Span) -> Messages {
    let record = record.clone();
    let pages = stream::unfold(Some(span.after), move |next| {
        let (record, key) = (record.clone(), key.clone());
        async move {
            let tail = record.tail(&key, next?, TailBounds::default()).await;
            let (items, next) = match tail {
                Ok(tail) => {
                    let chosen = tail.commits.into_iter().map(|message| {
                        Ok(Chosen {
                            key: Some(key.clone()),
                            message,
                        })
                    });
                    (chosen.collect(), tail.resume_after)
                }
                Err(unavailable) => (vec![Err(unavailable.into())], None),
            };
            Some((stream::iter(items), next))
        }
    });
    let within = pages.flatten().take_while(move |item| {
        let is_within = item.as_ref().map_or(true, |chosen| {
            chosen.message.position.sequence <= span.through
        });
        std::future::ready(is_within)
    });
    within.boxed()
}

/// A partition's messages in a stretch.
async fn of_partition(record: &Record, span: Span) -> Result<Messages, Unavailable> {
    // A stretch without a message would be waited for in vain.
    let first = record.next_after(span.partition, span.after).await?;
    if first.is_none_or(|first| first.sequence > span.through) {
        return Ok(stream::empty().boxed());
    }
    let followed = follow(record, span.partition, span.after);
    let messages = stream::unfold(Some(followed), move |followed| async move {
        let mut followed = followed?;
        let next = followed.next().await?;
        let sequence = next.message.position.sequence;
        // The message at the end may be gone by now, so a later one, or the last that there is, ends it too.
        if sequence > span.through {
            return None;
        }
        let is_over = sequence == span.through || next.pending == 0;
        Some((Ok(next.into()), (!is_over).then_some(followed)))
    });
    Ok(messages.boxed())
}

/// What comes after a stretch.
fn future(record: &Record, span: Span) -> Messages {
    let after = span.through.max(span.after);
    follow(record, span.partition, after)
        .map(|followed| Ok(followed.into()))
        .boxed()
}

/// A partition's messages for ever. It goes on by itself once a lost server is back.
fn follow(
    record: &Record,
    partition: Partition,
    after: Sequence,
) -> BoxStream<'static, FollowedMessage> {
    let followed = record.follow(partition, after);
    let told = followed.filter_map(|item| {
        std::future::ready(match item {
            Ok(message) => Some(message),
            Err(unavailable) => {
                console::complain(&unavailable.to_string());
                None
            }
        })
    });
    told.boxed()
}
