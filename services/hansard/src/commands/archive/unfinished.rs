//! Completes what an earlier, interrupted run left, and removes erased conversations from segments.

use std::collections::BTreeSet;

use archive::{Archive, CataloguedSegment, LastCommits};
use domain::ConversationKey;

use super::report::Report;

/// Removes loose objects, trims segments that are sealed only, and removes erased conversations from all segments.
pub(super) async fn finish(archive: &Archive, report: &mut Report) -> anyhow::Result<()> {
    archive.tidy(None).await?;
    for segment in archive.segments(None).await? {
        if !segment.sealed.is_trimmed {
            // Only a segment that can be read is trimmed from the record.
            archive.load(&segment).await?;
            trim(archive, segment, LastCommits::Keep, report).await?;
        }
    }
    sweep(archive, &archive.erased_conversations(None).await?, report).await
}

/// Trims the commits of a segment from the record, and removes conversations that were erased meanwhile from the segment.
pub(super) async fn trim(
    archive: &Archive,
    segment: CataloguedSegment,
    last_commits: LastCommits,
    report: &mut Report,
) -> anyhow::Result<()> {
    let trimmed = archive.trim(segment, last_commits).await?;
    report.trimmed(&trimmed);
    let erased: BTreeSet<ConversationKey> = trimmed.erased.into_iter().collect();
    sweep(archive, &erased, report).await
}

async fn sweep(
    archive: &Archive,
    erased: &BTreeSet<ConversationKey>,
    report: &mut Report,
) -> anyhow::Result<()> {
    if !erased.is_empty() {
        report.swept(archive.sweep(erased).await?);
    }
    Ok(())
}
