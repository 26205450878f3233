//! One erasure, as the command line asks for it: what it would do, or what it did.

use std::collections::HashSet;
use std::io::Write as _;

use anyhow::{bail, ensure};
use domain::{ChannelId, ConversationId, TenantId, UserId, Violation};
use serde_json::json;

use super::conversation_names::{listed, names};
use super::{How, plan};
use crate::console;
use crate::erase::keys::SigningKey;
use crate::erase::receipt::Receipt;
use crate::erase::{Erased, Job, Rows, Subject, await_rows, erase_metered, erase_usage};
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

/// A channel of a tenant.
pub(super) fn channel(tenant: &str, channel: &str) -> Result<Subject, UsageError> {
    Ok(Subject::Channel {
        tenant: tenant_id(tenant)?,
        channel: ChannelId::parse(channel).map_err(|violation| wrong("channel", &violation))?,
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
    let planned = job.plan().await?;
    if how.dry_run {
        return plan::tell(&job, &planned, &how).await;
    }
    if !job.is_known(&planned).await? && !has_erased_usage(&job, &how).await? {
        return refuse(&job.subject, &how);
    }
    let length = planned.claimed.len() + planned.forks.len() + planned.unfinished.len();
    let length = Length::Items(u64::try_from(length).unwrap_or(u64::MAX));
    let mut progress = Progress::begin("erase", length);
    let erased = job.carry_out(&mut progress).await?;
    let rows = rows(&job, &erased, &how).await?;
    progress.finish(&format!("{} conversations", erased.conversations.len()));
    let key = SigningKey::of(&job.record).await?;
    let signed = Receipt::of(&job.record, &job.subject, &erased, rows).signed(&key)?;
    let unknown = still_unknown(planned.unknown, &erased);
    if let Some(file) = &how.receipt {
        signed.write(file)?;
    }
    if how.json {
        let told = json!({
            "commits": erased.commits,
            "parts": erased.parts,
            "archived": erased.swept.commits,
            "unknown": names(&unknown),
            "signed": signed,
        });
        writeln!(console::out(), "{told}")?;
    } else {
        tell(&erased, rows)?;
    }
    ensure!(
        unknown.is_empty(),
        "the tenant {} has no {}, and had none: the others are erased, and the receipt is of them alone",
        job.subject.tenant(),
        listed(&unknown)
    );
    Ok(if rows == Rows::Left {
        Exit::Failed
    } else {
        Exit::Done
    })
}

/// Those that were not even begun while the others were erased.
fn still_unknown(mut unknown: Vec<ConversationId>, erased: &Erased) -> Vec<ConversationId> {
    let erased: HashSet<&ConversationId> = erased
        .conversations
        .iter()
        .map(|found| &found.key.conversation)
        .collect();
    unknown.retain(|id| !erased.contains(id));
    unknown
}

/// Of what nobody knows there is nothing to erase, and nothing to sign: most likely it is misspelt.
fn refuse(subject: &Subject, how: &How) -> anyhow::Result<Exit> {
    let tenant = subject.tenant();
    let (what, unknown) = match subject {
        Subject::Conversations { ids, .. } => {
            let ids: Vec<ConversationId> = ids.iter().cloned().collect();
            let what = format!("the tenant {tenant} has no {}, and had none", listed(&ids));
            (what, ids)
        }
        Subject::User { user, .. } => (
            format!(
                "the user {user} of the tenant {tenant} has no conversation, and this command has erased none (what callers erased \
                 names nobody any more)"
            ),
            Vec::new(),
        ),
        Subject::Channel { channel, .. } => (
            format!(
                "the channel {channel} of the tenant {tenant} has no history, and this command has erased none"
            ),
            Vec::new(),
        ),
        Subject::Tenant(_) => (format!("nothing is known of a tenant {tenant}"), Vec::new()),
    };
    if how.json {
        let told = json!({
            "commits": 0, "parts": 0, "archived": 0, "unknown": names(&unknown), "signed": null,
        });
        writeln!(console::out(), "{told}")?;
    }
    bail!("{what}: nothing was erased and nothing signed; is it spelt as it should be?")
}

async fn rows(job: &Job, erased: &Erased, how: &How) -> anyhow::Result<Rows> {
    if how.no_rows {
        erase_metered(&job.record, &job.subject).await?;
        return Ok(Rows::NotLookedAt);
    }
    let model = how.stores.read_model.open()?;
    let rows = await_rows(&model, &erased.conversations).await?;
    if rows != Rows::Gone {
        return Ok(rows);
    }
    let usage = erase_usage(&job.record, &model, &job.subject).await?;
    Ok(usage.map_or(Rows::Left, |_| Rows::Gone))
}

/// Erases what models used for a subject without conversations; whether there was any.
async fn has_erased_usage(job: &Job, how: &How) -> anyhow::Result<bool> {
    if how.no_rows {
        return Ok(erase_metered(&job.record, &job.subject).await? > 0);
    }
    let model = how.stores.read_model.open()?;
    let usage = erase_usage(&job.record, &model, &job.subject).await?;
    Ok(usage.is_some_and(|usage| usage > 0))
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
