//! Removes the last commits of hibernated conversations from the record, when every process knows their segments.

use std::time::Duration;

use archive::{Archive, LastCommits};
use event_log::Removal;
use tokio::time::{Instant, sleep};

use super::report::Report;
use super::unfinished::trim;

/// Hibernates the conversations of the segments that were not trimmed completely, `delay` after the last segment was sealed.
pub(super) async fn finish(
    archive: &Archive,
    removal: Removal,
    delay: Duration,
    report: &mut Report,
) -> anyhow::Result<()> {
    if report.waiting() == 0 {
        return Ok(());
    }
    let end = Instant::now() + delay;
    while Instant::now() < end {
        report.waits(end - Instant::now());
        sleep(Duration::from_secs(1).min(end - Instant::now())).await;
    }
    for segment in archive.segments(None).await? {
        if segment.sealed.hibernated > 0 && !segment.sealed.is_trimmed {
            // Only a segment that can be read is trimmed from the record.
            archive.load(&segment).await?;
            let last_commits = LastCommits::Remove;
            trim(archive, segment, last_commits, removal, report).await?;
        }
    }
    Ok(())
}
