//! The chosen commits, read from the record: each partition's in its order, those of several partitions as they come.

use domain::{ConversationKey, Partition, Sequence};
use event_log::{FollowedMessage, Record, StoredMessage, TailBounds, Unavailable};
use futures::stream::{self, BoxStream, SelectAll, StreamExt as _};

use super::{Places, Selection, Span};
use crate::console;
use crate::progress::grouped;

/// A message of the record, and the conversation by its subject; `None`: it is under a subject that is no conversation's.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// The conversation.
    pub key: Option<ConversationKey>,
    /// The message.
    pub message: StoredMessage,
}

/// How long to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// What the record holds now.
    Present,
    /// That, and what comes, for ever.
    Future,
}

type Messages = BoxStream<'static, Result<Chosen, Unavailable>>;

/// The commits of `selection` that `places` are not past. Losses of the server are told on standard error and waited out, but
/// for those while one conversation's past is read.
///
/// # Errors
/// As [`Selection::spans`], and [`Unavailable`].
pub async fn messages(
    record: &Record,
    selection: &Selection,
    places: &Places,
    reach: Reach,
) -> anyhow::Result<Messages> {
    let mut all = SelectAll::new();
    let spans = selection.spans(record, places).await?;
    tell_archived(record, &spans).await?;
    let key = selection.key();
    for span in spans {
        let past = match &key {
            Some(key) => of_conversation(record, key.clone(), span),
            None => of_partition(record, span).await?,
        };
        all.push(match reach {
            Reach::Present => past,
            Reach::Future => past.chain(future(record, span)).boxed(),
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

/// Says what of the stretches is in the archive, and so is not among their messages.
async fn tell_archived(record: &Record, spans: &[Span]) -> anyhow::Result<()> {
    let mut archived = 0;
    for one in record.archive_entries(None).await? {
        let sealed = one.entry.sealed.filter(|sealed| sealed.is_trimmed);
        let Some(sealed) = sealed else {
            continue;
        };
        let is_touched = |span: &Span| {
            span.partition.0 == one.entry.partition
                && sealed.last_sequence > span.after.0
                && sealed.first_sequence <= span.through.0
        };
        if spans.iter().any(is_touched) {
            archived += sealed.commits;
        }
    }
    if archived > 0 {
        let archived = grouped(archived);
        console::complain(&format!(
            "segments of the archive with {archived} commits lie in this part of the record, and are not read: see hansard archive read"
        ));
    }
    Ok(())
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
                Err(unavailable) => (vec![Err(unavailable)], None),
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

impl From<FollowedMessage> for Chosen {
    fn from(followed: FollowedMessage) -> Self {
        Self {
            key: followed.key,
            message: followed.message,
        }
    }
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
