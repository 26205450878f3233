//! Verifies a sample of conversations, or a single one.

use domain::{ConversationKey, Partition};
use futures::TryStreamExt as _;
use read_model::projections::conversations::verification::{KeyRange, RowPosition, row_positions};

use super::VerifyJob;
use super::repair::examine_and_repair;
use super::report::Report;
use super::sample::SampleSelection;

/// Rows per page.
const ROWS_PER_PAGE: u32 = 5_000;

/// Verifies the selected conversations of a range, among those in the record or the rows.
pub(super) async fn run(
    job: &VerifyJob,
    range: &KeyRange,
    mut selected: SampleSelection,
    report: &mut Report,
) -> anyhow::Result<()> {
    let is_selected = |key: &ConversationKey| range.contains(key) && job.archive.tenants().contains(&key.tenant);
    for partition in (0..job.record.partitions()).map(Partition) {
        let mut commits = job.record.last_commits(partition);
        while let Some((key, _)) = commits.try_next().await? {
            if is_selected(&key) {
                selected.offer(key);
            }
        }
        let hibernated = job.archive.hibernated_conversations(partition).await?;
        for key in hibernated.into_keys().filter(is_selected) {
            selected.offer(key);
        }
    }
    each_row(job, range.clone(), |row| selected.offer(row.key)).await?;
    let keys = selected.into_keys();
    let steps = u64::try_from(keys.len()).unwrap_or(u64::MAX);
    report.start_phase("verify", steps);
    for (step, key) in (1..).zip(keys) {
        verify_conversation(job, &key, report).await?;
        report.advance(step, steps);
    }
    Ok(())
}

/// Calls `visit` with the position of each row of a range, page by page.
pub(super) async fn each_row(
    job: &VerifyJob,
    mut left: KeyRange,
    mut visit: impl FnMut(RowPosition),
) -> anyhow::Result<()> {
    loop {
        let page = row_positions(&job.model, &left, ROWS_PER_PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        left = left.after(&last.key);
        page.into_iter().for_each(&mut visit);
    }
}

/// Verifies one conversation.
pub(super) async fn verify_conversation(
    job: &VerifyJob,
    key: &ConversationKey,
    report: &mut Report,
) -> anyhow::Result<()> {
    let (found, repair) = examine_and_repair(job, key).await?;
    report.examined(key, &found, &repair)
}
