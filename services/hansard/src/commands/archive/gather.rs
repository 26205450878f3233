//! The old conversations of a partition, each but its last commit, gathered into segments.
//!
//! Conversations are taken one behind the other, not the stream from its beginning: what a run costs is what it archives,
//! however much there is, and an erasure later touches one segment or a few.

use archive::Store;
use domain::audit::faults;
use domain::{ConversationKey, Head, Partition, Sequence, Status};
use event_log::{StoredMessage, TailBounds, TimedMessage};
use read_model::projections::conversations::quiet_among;
use read_model::projections::conversations::verification::RowPlace;

use super::filling::Filling;
use super::report::Report;
use super::run_scope::RunScope;

/// Conversations whose rows are looked at together.
pub(super) const PAGE: usize = 1_000;

/// Archives what is old of a partition.
pub(super) async fn gather(
    scope: &RunScope,
    store: &Store,
    partition: Partition,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut filling = Filling::new(scope, store, partition);
    let keys = candidates(scope, partition).await?;
    for page in keys.chunks(PAGE) {
        let page: Vec<&ConversationKey> = page.iter().collect();
        for place in quiet_among(&scope.model, &page, scope.before).await? {
            match standing(scope, &place).await? {
                Some(last) => take(scope, &place.key, &last, &mut filling, report).await?,
                None => report.left(),
            }
        }
    }
    filling.close(report).await
}

/// The conversations of a partition that have more than one commit in the record.
pub(super) async fn candidates(
    scope: &RunScope,
    partition: Partition,
) -> anyhow::Result<Vec<ConversationKey>> {
    let record = scope.archive.record();
    let listed = record.conversations(partition, scope.tenant.as_ref());
    let mut listed = listed.await?;
    listed.retain(|listed| listed.commits > 1);
    Ok(listed.into_iter().map(|listed| listed.key).collect())
}

/// A conversation's last commit, if it is as old as it must be by the record's own word, and the rows have all of it.
pub(super) async fn standing(
    scope: &RunScope,
    place: &RowPlace,
) -> anyhow::Result<Option<StoredMessage>> {
    let record = scope.archive.record();
    let Some(last) = record.last_from_leader(&place.key).await? else {
        return Ok(None);
    };
    let head = last.open_head()?;
    let is_old = head.recorded_at < scope.before && head.status != Status::Erased;
    let is_projected = place.position.sequence >= last.position.sequence;
    Ok((is_old && is_projected).then_some(last))
}

/// Takes a conversation's commits up to its last one, which stays.
async fn take(
    scope: &RunScope,
    key: &ConversationKey,
    last: &StoredMessage,
    filling: &mut Filling<'_>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let record = scope.archive.record();
    let (mut next, mut before, mut is_first) = (Some(Sequence(0)), None, true);
    filling.begin_conversation();
    while let Some(after) = next {
        filling.ready().await?;
        let tail = record.timed_tail(key, after, TailBounds::default()).await?;
        next = tail.resume_after;
        for commit in tail.commits {
            before = match follow_on(before.as_ref(), &commit) {
                Ok(head) => Some(head),
                Err(why) => {
                    filling.drop_conversation();
                    return report.unsound(key, &why);
                }
            };
            let sequence = commit.message.position.sequence;
            if is_first
                && sequence < last.position.sequence
                && !filling.is_preceded(key, &commit).await?
            {
                return report.unsound(
                    key,
                    "commits before its first one in the record are in no segment",
                );
            }
            is_first = false;
            if sequence >= last.position.sequence {
                return Ok(());
            }
            filling.push(key, commit);
            if filling.is_full() {
                filling.close(report).await?;
                filling.begin_conversation();
                // Read again under the next segment's name: an erasure that comes now must know of it.
                next = Some(sequence);
                break;
            }
        }
    }
    Ok(())
}

/// Whether a commit goes on from the one before it; its head and place, else what is wrong with it.
fn follow_on(
    before: Option<&(Head, Sequence)>,
    commit: &TimedMessage,
) -> Result<(Head, Sequence), String> {
    let opened = commit.message.open();
    let opened = opened.map_err(|corrupt| corrupt.source.to_string())?.opened;
    if let Some((head, sequence)) = before
        && let Some(fault) = faults(Some((head, *sequence)), &opened.commit, &opened.body).first()
    {
        return Err(fault.to_string());
    }
    Ok((opened.commit.head, commit.message.position.sequence))
}
