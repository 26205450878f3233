//! `hansard archive run --dry-run`: counts what a run would archive.

use std::io::Write as _;

use domain::{ConversationKey, Partition};
use serde_json::json;

use super::RunScope;
use super::partition::{PAGE, archivable, candidates};
use crate::console;
use crate::progress::grouped;

/// The counts of a dry run.
#[derive(Default)]
struct Plan {
    conversations: u64,
    commits: u64,
    untrimmed: u64,
    loose: u64,
}

/// Prints what a run would do, and changes nothing.
pub(super) async fn print(scope: &RunScope, json: bool) -> anyhow::Result<()> {
    let mut plan = Plan::default();
    let record = scope.archive.record();
    for catalogued in record.archive_entries(None).await? {
        plan.loose += u64::from(!catalogued.entry.loose.is_empty());
        let sealed = catalogued.entry.sealed;
        plan.untrimmed += u64::from(sealed.is_some_and(|sealed| !sealed.is_trimmed));
    }
    let erased = scope.archive.erased_conversations(None).await?.len();
    for partition in (0..record.partitions()).map(Partition) {
        count(scope, partition, &mut plan).await?;
    }
    let mut out = console::out();
    let Plan { conversations, commits, untrimmed, loose } = plan;
    if json {
        let output = json!({
            "conversations": conversations, "commits": commits,
            "untrimmedSegments": untrimmed, "looseObjects": loose, "erasedInSegments": erased,
        });
        return Ok(writeln!(out, "{output}")?);
    }
    let (commits, conversations) = (grouped(commits), grouped(conversations));
    let of = format!("of {conversations} conversations");
    writeln!(out, "would archive {commits} commits {of}")?;
    if untrimmed + loose > 0 {
        writeln!(
            out,
            "would trim {untrimmed} segments that an earlier run sealed, and remove the loose objects of {loose} segments"
        )?;
    }
    if erased > 0 {
        let what = format!("{erased} erased conversations");
        writeln!(out, "would remove {what} from their segments")?;
    }
    Ok(())
}

async fn count(scope: &RunScope, partition: Partition, plan: &mut Plan) -> anyhow::Result<()> {
    let record = scope.archive.record();
    let keys = candidates(scope, partition).await?;
    let sealed = scope.sealed(partition).await?;
    for page in keys.chunks(PAGE) {
        let page: Vec<&ConversationKey> = page.iter().collect();
        for place in scope.idle(&page, &sealed).await? {
            if archivable(scope, &place).await?.is_some() {
                let commits = record.commits_of(&place.key).await?;
                let left = u64::from(!scope.hibernates);
                plan.conversations += 1;
                plan.commits += commits.saturating_sub(left);
            }
        }
    }
    Ok(())
}
