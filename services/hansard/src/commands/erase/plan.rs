//! `--dry-run`: what an erasure would do, and what would keep it from that.

use std::io::Write as _;

use serde_json::json;

use super::How;
use super::conversation_names::{listed, names};
use crate::console;
use crate::erase::{Foresight, Found, Job, Plan};
use crate::exit::Exit;
use crate::progress::grouped;

/// Tells it.
pub(super) async fn tell(job: &Job, plan: &Plan, how: &How) -> anyhow::Result<Exit> {
    let registry = job.registry_entries().await?;
    let foresight = job.foresee(plan).await?;
    if how.json {
        let told = json!({
            "conversations": plan.claimed.len(),
            "commits": commits(&plan.claimed),
            "archived": foresight.archived,
            "forks": ids(&plan.forks),
            "unfinished": ids(&plan.unfinished),
            "erasedBefore": plan.done.len(),
            "registry": registry,
            "unknown": names(&plan.unknown),
            "refuses": foresight.refusals,
        });
        writeln!(console::out(), "{told}")?;
        return Ok(Exit::Done);
    }
    tell_counts(plan, &foresight, how)?;
    let mut out = console::out();
    for (kind, count) in &registry {
        writeln!(out, "registry, {kind:<16}{count}")?;
    }
    if !plan.unknown.is_empty() {
        writeln!(out, "not known:                {}", listed(&plan.unknown))?;
    }
    for refusal in &foresight.refusals {
        writeln!(out, "would be refused:         {refusal}")?;
    }
    Ok(Exit::Done)
}

fn tell_counts(plan: &Plan, foresight: &Foresight, how: &How) -> anyhow::Result<()> {
    let mut out = console::out();
    let commits = grouped(commits(&plan.claimed));
    let archived = foresight.archived.map(grouped);
    let archived = archived.unwrap_or_else(|| "cannot be read".to_owned());
    let forks = plan.forks.len();
    writeln!(out, "conversations to erase:   {}", plan.claimed.len())?;
    writeln!(out, "commits in the record:    {commits}")?;
    writeln!(out, "archived commits:         {archived}")?;
    writeln!(
        out,
        "forks that read through:  {forks} (--forks {})",
        rule(how)
    )?;
    for fork in &plan.forks {
        writeln!(out, "  {}", fork.key.conversation)?;
    }
    writeln!(out, "left by earlier erasures: {}", plan.unfinished.len())?;
    writeln!(out, "erased before:            {}", plan.done.len())?;
    Ok(())
}

fn commits(found: &[Found]) -> u64 {
    found.iter().map(|found| found.commits).sum()
}

fn ids(found: &[Found]) -> Vec<&str> {
    let ids = found.iter().map(|one| one.key.conversation.as_str());
    ids.collect()
}

fn rule(how: &How) -> String {
    let value = clap::ValueEnum::to_possible_value(&how.forks);
    value
        .map(|value| value.get_name().to_owned())
        .unwrap_or_default()
}
