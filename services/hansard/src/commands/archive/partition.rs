//! Archives the old conversations of a partition: all their commits but the last one, or all if they are hibernated.
//!
//! Reads conversation by conversation, not the whole stream. The cost of a run depends on what it archives, not on the size
//! of the stream, and a later erasure rewrites few segments.

use archive::Store;
use domain::audit::faults;
use domain::{ConversationKey, Head, Partition, Sequence, Status};
use event_log::{StoredMessage, TailBounds, TimedMessage, TimedTail};
use futures::future::try_join_all;
use read_model::projections::conversations::verification::RowPosition;

use super::RunScope;
use super::report::Report;
use super::segment_builder::SegmentBuilder;

/// Conversations per query of the rows.
pub(super) const PAGE: usize = 1_000;
/// Conversations whose commits are read at the same time.
const READS_IN_FLIGHT: usize = 4;
/// Commits of each that are read then.
const FIRST_READ: TailBounds = TailBounds { commits_max: 100, bytes_max: 256 * 1024 };

/// Archives the old conversations of a partition.
pub(super) async fn archive_partition(
    scope: &RunScope,
    store: &Store,
    partition: Partition,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut builder = SegmentBuilder::new(scope, store, partition);
    let keys = candidates(scope, partition).await?;
    let sealed = scope.sealed(partition).await?;
    for page in keys.chunks(PAGE) {
        let page: Vec<&ConversationKey> = page.iter().collect();
        let idle = scope.idle(&page, &sealed).await?;
        for places in idle.chunks(READS_IN_FLIGHT) {
            let old = old_conversations(scope, places, report).await?;
            archive_conversations(scope, &old, &mut builder, report).await?;
        }
    }
    builder.close(report).await
}

/// A conversation to archive.
struct OldConversation<'p> {
    key: &'p ConversationKey,
    last: StoredMessage,
}

async fn old_conversations<'p>(
    scope: &RunScope,
    places: &'p [RowPosition],
    report: &mut Report,
) -> anyhow::Result<Vec<OldConversation<'p>>> {
    let reads = places.iter().map(|place| archivable(scope, place));
    let mut old = Vec::with_capacity(places.len());
    for (place, last) in places.iter().zip(try_join_all(reads).await?) {
        match last {
            Some(last) => old.push(OldConversation { key: &place.key, last }),
            None => report.skipped(),
        }
    }
    Ok(old)
}

/// Reads the first commits of some conversations at once, and archives one after the other.
async fn archive_conversations(
    scope: &RunScope,
    mut old: &[OldConversation<'_>],
    builder: &mut SegmentBuilder<'_>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let record = scope.archive.record();
    while !old.is_empty() {
        let segment = builder.reserve().await?;
        let keys = old.iter().map(|one| one.key);
        let first = try_join_all(keys.map(|key| record.timed_tail(key, Sequence(0), FIRST_READ))).await?;
        for (one, first) in old.iter().zip(first) {
            archive_conversation(scope, one, first, builder, report).await?;
            old = old.get(1..).unwrap_or_default();
            if !builder.is_reserved_as(segment) {
                // The others are read again, after the next segment is in the catalogue.
                break;
            }
        }
    }
    Ok(())
}

/// The conversations of a partition that have commits in the record to archive.
pub(super) async fn candidates(scope: &RunScope, partition: Partition) -> anyhow::Result<Vec<ConversationKey>> {
    let record = scope.archive.record();
    let mut listed = record.conversations(partition, scope.tenant.as_ref()).await?;
    listed.retain(|listed| scope.hibernates || listed.commits > 1);
    Ok(listed.into_iter().map(|listed| listed.key).collect())
}

/// Returns the last commit of a conversation if it is old enough in the record and the rows contain it.
pub(super) async fn archivable(scope: &RunScope, place: &RowPosition) -> anyhow::Result<Option<StoredMessage>> {
    let record = scope.archive.record();
    let Some(last) = record.last_from_leader(&place.key).await? else {
        return Ok(None);
    };
    let head = last.open_head()?;
    let is_erased = head.status == Status::Erased;
    let is_old = head.recorded_at < scope.before && (scope.hibernates || !is_erased);
    let is_projected = place.position.sequence >= last.position.sequence;
    Ok((is_old && is_projected).then_some(last))
}

/// Adds the commits of a conversation to segments, except the last one if it stays in the record. Of an erased conversation there is only
/// the tombstone; one that is still being erased is skipped.
async fn archive_conversation(
    scope: &RunScope,
    OldConversation { key, last }: &OldConversation<'_>,
    first: TimedTail,
    builder: &mut SegmentBuilder<'_>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let record = scope.archive.record();
    let is_erased = last.open_head()?.status == Status::Erased;
    if is_erased && record.pending_erasure(key).await?.is_some() {
        return Ok(());
    }
    let (mut tail, mut before, mut is_first) = (first, None, true);
    builder.begin_conversation();
    loop {
        let mut next = tail.resume_after;
        for commit in tail.commits {
            before = match audit(before.as_ref(), &commit) {
                Ok(head) => Some(head),
                Err(why) => {
                    builder.drop_conversation();
                    return report.unsound(key, &why);
                }
            };
            let sequence = commit.message.position.sequence;
            let is_last = sequence == last.position.sequence;
            if sequence > last.position.sequence || (is_last && !scope.hibernates) {
                return Ok(());
            }
            if is_erased && !is_last {
                return Ok(());
            }
            if is_first && !builder.is_preceded(key, &commit).await? {
                let why = "commits before its first commit in the record are in no segment";
                return report.unsound(key, why);
            }
            is_first = false;
            builder.push(key, commit);
            if is_last {
                builder.hibernate(key);
                builder.close_if_full(report).await?;
                return Ok(());
            }
            if builder.close_if_full(report).await? {
                builder.begin_conversation();
                // The rest is read after the next segment is in the catalogue, so that a concurrent erasure includes it.
                next = Some(sequence);
                break;
            }
        }
        let Some(after) = next else {
            return Ok(());
        };
        builder.reserve().await?;
        tail = record.timed_tail(key, after, TailBounds::default()).await?;
    }
}

/// Checks that a commit continues the previous one. Returns its head and sequence, or the fault.
fn audit(before: Option<&(Head, Sequence)>, commit: &TimedMessage) -> Result<(Head, Sequence), String> {
    let opened = commit.message.open().map_err(|corrupt| corrupt.source.to_string())?.opened;
    if let Some((head, sequence)) = before
        && let Some(fault) = faults(Some((head, *sequence)), &opened.commit, &opened.body).first()
    {
        return Err(fault.to_string());
    }
    Ok((opened.commit.head, commit.message.position.sequence))
}
