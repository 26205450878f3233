//! One erasure, as the command line asks for it: what it would do, or what it did.

use std::io::Write as _;

use domain::{ConversationId, TenantId, UserId, Violation};
use read_model::projections::conversations::forget_usage;
use serde_json::json;

use super::How;
use crate::console;
use crate::erase::keys::ReceiptKey;
use crate::erase::receipt::Receipt;
use crate::erase::{Erased, Found, Job, Plan, Rows, Subject, await_rows};
use crate::exit::{Exit, UsageError};
use crate::progress::{Length, Progress, grouped};

/// Conversations of a tenant.
pub(super) fn conversations(tenant: &str, ids: &[String]) -> Result<Subject, UsageError> {
    let id = |id: &String| {
        ConversationId::parse(id.as_str()).map_err(|violation| wrong("conversation", &violation))
    };
    Ok(Subject::Conversations {
        tenant: tenant_id(tenant)?,
        ids: ids.iter().map(id).collect::<Result<_, _>>()?,
    })
}

/// A user of a tenant.
pub(super) fn user(tenant: &str, user: &str) -> Result<Subject, UsageError> {
    Ok(Subject::User {
        tenant: tenant_id(tenant)?,
        user: UserId::parse(user).map_err(|violation| wrong("user", &violation))?,
    })
}

/// A tenant.
pub(super) fn tenant(tenant: &str) -> Result<Subject, UsageError> {
    tenant_id(tenant).map(Subject::Tenant)
}

fn tenant_id(text: &str) -> Result<TenantId, UsageError> {
    TenantId::parse(text).map_err(|violation| wrong("tenant", &violation))
}

fn wrong(what: &str, violation: &Violation) -> UsageError {
    UsageError(format!("the {what} {}", violation.description))
}

pub(super) async fn run(subject: Subject, how: How) -> anyhow::Result<Exit> {
    let archive = how.stores.open_archive("hansard-erase").await?;
    let job = Job {
        record: archive.record().clone(),
        archive,
        subject,
        forks: how.forks,
    };
    let plan = job.plan().await?;
    if how.dry_run {
        return tell_plan(&job, &plan, &how).await;
    }
    let length = plan.claimed.len() + plan.forks.len() + plan.unfinished.len();
    let length = Length::Items(u64::try_from(length).unwrap_or(u64::MAX));
    let mut progress = Progress::begin("erase", length);
    let erased = job.carry_out(&mut progress).await?;
    let rows = rows(&job, &erased, &how).await?;
    progress.finish(&format!("{} conversations", erased.conversations.len()));
    let key = ReceiptKey::of(&job.record).await?;
    let signed = Receipt::of(&job.record, &job.subject, &erased, rows).signed(&key)?;
    if let Some(file) = &how.receipt {
        signed.write(file)?;
    }
    if how.json {
        let told = json!({
            "commits": erased.commits,
            "parts": erased.parts,
            "archived": erased.swept.commits,
            "signed": signed,
        });
        writeln!(console::out(), "{told}")?;
    } else {
        tell(&erased, rows)?;
    }
    Ok(if rows == Rows::Left {
        Exit::Failed
    } else {
        Exit::Done
    })
}

async fn rows(job: &Job, erased: &Erased, how: &How) -> anyhow::Result<Rows> {
    if how.no_rows {
        return Ok(Rows::NotLookedAt);
    }
    let model = how.stores.read_model.open()?;
    let rows = await_rows(&model, &erased.conversations).await?;
    if let (Subject::Tenant(tenant), Rows::Gone) = (&job.subject, rows) {
        forget_usage(&model, tenant).await?;
    }
    Ok(rows)
}

fn tell(erased: &Erased, rows: Rows) -> anyhow::Result<()> {
    let mut out = console::out();
    let count = |count: usize| grouped(u64::try_from(count).unwrap_or(u64::MAX));
    writeln!(
        out,
        "conversations erased:     {}",
        count(erased.conversations.len())
    )?;
    writeln!(out, "commits overwritten now:  {}", grouped(erased.commits))?;
    writeln!(out, "parts overwritten now:    {}", grouped(erased.parts))?;
    writeln!(
        out,
        "archived commits removed: {}",
        grouped(erased.swept.commits)
    )?;
    for (kind, count) in &erased.registry {
        writeln!(out, "registry, {kind:<16}{count}")?;
    }
    let rows = match rows {
        Rows::Gone => "gone",
        Rows::NotLookedAt => "not looked at",
        Rows::Left => "some are left: start a projector, then run this again",
    };
    writeln!(out, "rows:                     {rows}")?;
    Ok(())
}

async fn tell_plan(job: &Job, plan: &Plan, how: &How) -> anyhow::Result<Exit> {
    let registry = job.registry_entries().await?;
    let mut out = console::out();
    let commits = |found: &[Found]| found.iter().map(|found| found.commits).sum::<u64>();
    let ids = |found: &[Found]| -> Vec<String> {
        let ids = found
            .iter()
            .map(|one| one.key.conversation.as_str().to_owned());
        ids.collect()
    };
    if how.json {
        let told = json!({
            "conversations": plan.claimed.len(),
            "commits": commits(&plan.claimed),
            "forks": ids(&plan.forks),
            "unfinished": ids(&plan.unfinished),
            "erasedBefore": plan.done.len(),
            "registry": registry,
        });
        writeln!(out, "{told}")?;
        return Ok(Exit::Done);
    }
    writeln!(out, "conversations to erase:   {}", plan.claimed.len())?;
    writeln!(
        out,
        "commits in them:          {}",
        grouped(commits(&plan.claimed))
    )?;
    writeln!(
        out,
        "forks that read through:  {} (--forks {})",
        plan.forks.len(),
        rule(how)
    )?;
    for fork in &plan.forks {
        writeln!(out, "  {}", fork.key.conversation)?;
    }
    writeln!(out, "left by earlier erasures: {}", plan.unfinished.len())?;
    writeln!(out, "erased before:            {}", plan.done.len())?;
    for (kind, count) in &registry {
        writeln!(out, "registry, {kind:<16}{count}")?;
    }
    Ok(Exit::Done)
}

fn rule(how: &How) -> String {
    let value = clap::ValueEnum::to_possible_value(&how.forks);
    value
        .map(|value| value.get_name().to_owned())
        .unwrap_or_default()
}
