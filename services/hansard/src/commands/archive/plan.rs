//! `--dry-run`: what a run would do.

use std::io::Write as _;

use domain::{ConversationKey, Partition};
use read_model::projections::conversations::quiet_among;
use serde_json::json;

use super::gather::{PAGE, candidates, standing};
use super::run_scope::RunScope;
use crate::console;
use crate::progress::grouped;

/// What there is to do.
#[derive(Default)]
struct Plan {
    conversations: u64,
    commits: u64,
    untrimmed: u64,
    loose: u64,
    erased: usize,
}

/// Tells what a run would do, and does nothing.
pub(super) async fn tell(scope: &RunScope, json: bool) -> anyhow::Result<()> {
    let mut plan = Plan::default();
    let record = scope.archive.record();
    for catalogued in record.archive_entries(None).await? {
        plan.loose += u64::from(!catalogued.entry.loose.is_empty());
        let sealed = catalogued.entry.sealed;
        plan.untrimmed += u64::from(sealed.is_some_and(|sealed| !sealed.is_trimmed));
    }
    plan.erased = scope.archive.erased_in(None).await?.len();
    for partition in (0..record.partitions()).map(Partition) {
        count(scope, partition, &mut plan).await?;
    }
    let mut out = console::out();
    if json {
        let told = json!({
            "conversations": plan.conversations, "commits": plan.commits,
            "untrimmedSegments": plan.untrimmed, "looseObjects": plan.loose, "erasedInSegments": plan.erased,
        });
        writeln!(out, "{told}")?;
        return Ok(());
    }
    writeln!(
        out,
        "would archive {} commits of {} conversations",
        grouped(plan.commits),
        grouped(plan.conversations)
    )?;
    if plan.untrimmed + plan.loose > 0 {
        let (untrimmed, loose) = (plan.untrimmed, plan.loose);
        writeln!(
            out,
            "would finish {untrimmed} segments that an earlier run sealed, and remove the loose objects of {loose}"
        )?;
    }
    if plan.erased > 0 {
        let erased = plan.erased;
        writeln!(
            out,
            "would take {erased} erased conversations out of their segments"
        )?;
    }
    Ok(())
}

async fn count(scope: &RunScope, partition: Partition, plan: &mut Plan) -> anyhow::Result<()> {
    let record = scope.archive.record();
    let keys = candidates(scope, partition).await?;
    for page in keys.chunks(PAGE) {
        let page: Vec<&ConversationKey> = page.iter().collect();
        for place in quiet_among(&scope.model, &page, scope.before).await? {
            if standing(scope, &place).await?.is_some() {
                let commits = record.commits_of(&place.key).await?;
                plan.conversations += 1;
                plan.commits += commits.saturating_sub(1);
            }
        }
    }
    Ok(())
}
