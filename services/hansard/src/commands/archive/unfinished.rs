//! Completes what an earlier, interrupted run left, and removes erased conversations from segments.

use std::collections::BTreeSet;
use std::time::Duration;

use archive::{Archive, ArchiveError, CataloguedSegment, LastCommits};
use backoff::exponential;
use backon::Retryable as _;
use domain::ConversationKey;
use event_log::Removal;

use super::report::Report;

/// Removes loose objects, trims segments that are sealed only, and removes erased conversations from all segments.
pub(super) async fn finish(archive: &Archive, removal: Removal, report: &mut Report) -> anyhow::Result<()> {
    archive.tidy(None).await?;
    for segment in archive.segments(None).await? {
        if !segment.sealed.is_trimmed {
            // Only a segment that can be read is trimmed from the record.
            archive.load(&segment).await?;
            let last_commits = LastCommits::Keep;
            trim(archive, segment, last_commits, removal, report).await?;
        }
    }
    sweep(archive, &archive.erased_conversations(None).await?, report).await
}

/// First and longest wait after the record did not answer.
const RETRY_WAITS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));
/// Maximum number of retries of a segment: what was removed stays removed.
const RETRIES_MAX: usize = 20;

/// Trims the commits of a segment from the record, and removes conversations that were erased meanwhile from the segment.
pub(super) async fn trim(
    archive: &Archive,
    segment: CataloguedSegment,
    last_commits: LastCommits,
    removal: Removal,
    report: &mut Report,
) -> anyhow::Result<()> {
    let trimmed = (|| archive.trim(segment.clone(), last_commits, removal))
        .retry(exponential(RETRY_WAITS.0, RETRY_WAITS.1).with_max_times(RETRIES_MAX))
        .when(|error| matches!(error, ArchiveError::Record(_)))
        .notify(|error, _| report.retries(error))
        .await?;
    report.trimmed(&trimmed);
    let erased: BTreeSet<ConversationKey> = trimmed.erased.into_iter().collect();
    sweep(archive, &erased, report).await
}

async fn sweep(archive: &Archive, erased: &BTreeSet<ConversationKey>, report: &mut Report) -> anyhow::Result<()> {
    if !erased.is_empty() {
        report.swept(archive.sweep(erased).await?);
    }
    Ok(())
}
