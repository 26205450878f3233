//! What an earlier run left undone, and what was erased since.

use std::collections::BTreeSet;

use archive::{Archive, CataloguedSegment};
use domain::ConversationKey;

use super::report::Report;

/// Removes loose objects, trims what is sealed and not trimmed, and takes erased conversations out of all segments.
pub(super) async fn finish(archive: &Archive, report: &mut Report) -> anyhow::Result<()> {
    archive.tidy(None).await?;
    for segment in archive.segments(None).await? {
        if !segment.sealed.is_trimmed {
            // Only what can be read now is taken out of the record.
            archive.load(&segment).await?;
            trim(archive, segment, report).await?;
        }
    }
    sweep(archive, &archive.erased_in(None).await?, report).await
}

/// Takes out of the record what a segment holds, and out of the segment what was erased meanwhile.
pub(super) async fn trim(
    archive: &Archive,
    segment: CataloguedSegment,
    report: &mut Report,
) -> anyhow::Result<()> {
    let trimmed = archive.trim(segment).await?;
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
