//! `--dry-run`: prints what an erasure would do and what would prevent it.

use std::io::Write as _;

use serde_json::json;

use super::{EraseArgs, listed, names};
use crate::console;
use crate::erase::{DryRun, Job, Plan, ScannedConversation};
use crate::exit::Exit;
use crate::progress::grouped;

/// Prints the plan.
pub(super) async fn print(job: &Job, plan: &Plan, options: &EraseArgs) -> anyhow::Result<Exit> {
    let registry = job.registry_entries().await?;
    let dry_run = job.dry_run(plan).await?;
    if options.json {
        let output = json!({
            "conversations": plan.conversations.len(),
            "commits": commits(&plan.conversations),
            "archived": dry_run.archived,
            "forks": ids(&plan.forks),
            "unfinished": ids(&plan.unfinished),
            "erasedBefore": plan.done.len(),
            "registry": registry,
            "unknown": names(&plan.unknown),
            "refuses": dry_run.refusals,
        });
        writeln!(console::out(), "{output}")?;
        return Ok(Exit::Done);
    }
    print_counts(plan, &dry_run, options)?;
    let mut out = console::out();
    for (kind, count) in &registry {
        writeln!(out, "registry, {kind:<16}{count}")?;
    }
    if !plan.unknown.is_empty() {
        writeln!(out, "unknown:                  {}", listed(&plan.unknown))?;
    }
    for refusal in &dry_run.refusals {
        writeln!(out, "prevented by:             {refusal}")?;
    }
    Ok(Exit::Done)
}

fn print_counts(plan: &Plan, dry_run: &DryRun, options: &EraseArgs) -> anyhow::Result<()> {
    let mut out = console::out();
    let commits = grouped(commits(&plan.conversations));
    let archived = dry_run.archived.map_or_else(|| "cannot be read".to_owned(), grouped);
    let (conversations, forks) = (plan.conversations.len(), plan.forks.len());
    let option = clap::ValueEnum::to_possible_value(&options.forks);
    let rule = option.as_ref().map_or("", |rule| rule.get_name());
    writeln!(out, "conversations to erase:   {conversations}")?;
    writeln!(out, "commits in the record:    {commits}")?;
    writeln!(out, "archived commits:         {archived}")?;
    writeln!(out, "forks that read through:  {forks} (--forks {rule})")?;
    for fork in &plan.forks {
        writeln!(out, "  {}", fork.key.conversation)?;
    }
    writeln!(out, "erasures to complete:     {}", plan.unfinished.len())?;
    writeln!(out, "erased before:            {}", plan.done.len())?;
    Ok(())
}

fn commits(found: &[ScannedConversation]) -> u64 {
    found.iter().map(|found| found.commits).sum()
}

fn ids(found: &[ScannedConversation]) -> Vec<&str> {
    found.iter().map(|one| one.key.conversation.as_str()).collect()
}
