//! Runs one erasure and prints its result, or its plan with `--dry-run`.

use std::collections::HashSet;
use std::io::Write as _;

use anyhow::{bail, ensure};
use domain::ConversationId;
use read_model::shards;
use serde_json::json;

use super::{EraseArgs, listed, names, plan};
use crate::commands::stores::other_database;
use crate::console;
use crate::erase::keys::SigningKey;
use crate::erase::receipt::Receipt;
use crate::erase::{ErasureResult, Job, Rows, Subject, await_rows, erase_metered, erase_usage};
use crate::exit::Exit;
use crate::progress::{Length, Progress, grouped};

pub(super) async fn run(subject: Subject, options: EraseArgs) -> anyhow::Result<Exit> {
    let archive = options.stores.open_archive("hansard-erase").await?;
    let job = Job { record: archive.record().clone(), archive, subject, forks: options.forks };
    let tenant = job.subject.tenant();
    // A database that does not answer prevents no erasure.
    if !options.no_rows
        && let Ok(Some(database)) = shards::other_database(&options.stores.read_model.open()?, tenant).await
    {
        return Err(other_database(tenant, &database).into());
    }
    let planned = job.plan().await?;
    if options.dry_run {
        return plan::print(&job, &planned, &options).await;
    }
    if !job.is_known(&planned).await? && !has_erased_usage(&job, &options).await? {
        return reject_unknown(&job.subject, &options);
    }
    let count = planned.conversations.len() + planned.forks.len() + planned.unfinished.len();
    let length = Length::Items(u64::try_from(count).unwrap_or(u64::MAX));
    let mut progress = Progress::begin("erase", length);
    let erased = job.execute(&mut progress).await?;
    let rows = rows(&job, &erased, &options).await?;
    progress.finish(&format!("{} conversations", erased.conversations.len()));
    let key = SigningKey::of(&job.record).await?;
    let signed = Receipt::of(&job.record, &job.subject, &erased, rows).signed(&key)?;
    let unknown = still_unknown(planned.unknown, &erased);
    if let Some(file) = &options.receipt {
        signed.write(file)?;
    }
    if options.json {
        let output = json!({
            "commits": erased.commits,
            "parts": erased.parts,
            "archived": erased.swept.commits,
            "unknown": names(&unknown),
            "signed": signed,
        });
        writeln!(console::out(), "{output}")?;
    } else {
        print(&erased, rows)?;
    }
    ensure!(
        unknown.is_empty(),
        "the tenant {} has no {}: the others are erased, and the receipt lists only them",
        job.subject.tenant(),
        listed(&unknown)
    );
    Ok(Exit::Failed.when(rows == Rows::Left))
}

/// The unknown ids that did not come into existence while the others were erased.
fn still_unknown(mut unknown: Vec<ConversationId>, erased: &ErasureResult) -> Vec<ConversationId> {
    let erased: HashSet<_> = erased.conversations.iter().map(|found| &found.key.conversation).collect();
    unknown.retain(|id| !erased.contains(id));
    unknown
}

/// Fails if the record contains nothing of the subject: most likely the id is misspelt.
fn reject_unknown(subject: &Subject, options: &EraseArgs) -> anyhow::Result<Exit> {
    let tenant = subject.tenant();
    let mut unknown: Vec<ConversationId> = Vec::new();
    let what = match subject {
        Subject::Conversations { ids, .. } => {
            unknown.extend(ids.iter().cloned());
            format!("the tenant {tenant} has no {}", listed(&unknown))
        }
        Subject::User { user, .. } => format!(
            "the user {user} of the tenant {tenant} has no conversations, and no erasure of this user is recorded (tombstones \
             of erasures by callers name no user)"
        ),
        Subject::Channel { channel, .. } => {
            format!("the channel {channel} of the tenant {tenant} has no history, and no erasure of it is recorded")
        }
        Subject::Tenant(_) => format!("the tenant {tenant} does not exist"),
    };
    if options.json {
        let output = json!({
            "commits": 0, "parts": 0, "archived": 0, "unknown": names(&unknown), "signed": null,
        });
        writeln!(console::out(), "{output}")?;
    }
    bail!("{what}: nothing was erased and no receipt was written; check the spelling")
}

async fn rows(job: &Job, erased: &ErasureResult, options: &EraseArgs) -> anyhow::Result<Rows> {
    if options.no_rows {
        erase_metered(&job.record, &job.subject).await?;
        return Ok(Rows::NotLookedAt);
    }
    let model = options.stores.read_model.open()?;
    let rows = await_rows(&model, &erased.conversations).await?;
    if rows != Rows::Gone {
        return Ok(rows);
    }
    let usage = erase_usage(&job.record, &model, &job.subject).await?;
    Ok(usage.map_or(Rows::Left, |_| Rows::Gone))
}

/// Erases the usage of a subject without conversations. Returns whether there was any.
async fn has_erased_usage(job: &Job, options: &EraseArgs) -> anyhow::Result<bool> {
    if options.no_rows {
        return Ok(erase_metered(&job.record, &job.subject).await? > 0);
    }
    let model = options.stores.read_model.open()?;
    Ok(erase_usage(&job.record, &model, &job.subject).await? > Some(0))
}

fn print(erased: &ErasureResult, rows: Rows) -> anyhow::Result<()> {
    let mut out = console::out();
    let conversations = grouped(u64::try_from(erased.conversations.len()).unwrap_or(u64::MAX));
    let archived = grouped(erased.swept.commits);
    writeln!(out, "conversations erased:     {conversations}")?;
    writeln!(out, "commits overwritten now:  {}", grouped(erased.commits))?;
    writeln!(out, "parts overwritten now:    {}", grouped(erased.parts))?;
    writeln!(out, "archived commits removed: {archived}")?;
    for (kind, count) in &erased.registry {
        writeln!(out, "registry, {kind:<16}{count}")?;
    }
    let rows = match rows {
        Rows::Gone => "deleted",
        Rows::NotLookedAt => "not checked",
        Rows::Left => "some remain: start a projector, then run the same command again",
    };
    writeln!(out, "rows:                     {rows}")?;
    Ok(())
}
