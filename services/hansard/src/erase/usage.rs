//! Erases the usage of a tenant or an owner: metered calls in their stream, and their sums in the rows.

use std::time::{Duration, Instant};

use domain::{Owner, OwnerDigest, TenantId};
use event_log::Record;
use read_model::ReadModel;
use read_model::projections::conversations::delete_usage;
use read_model::projections::provider_logs::{checkpoint, delete_owner_usage};

use super::subject::Subject;

/// The deadline for the projector.
const PROJECTED_MAX: Duration = Duration::from_secs(30);
/// The polling interval.
const POLL: Duration = Duration::from_millis(100);

/// The tenant and owner whose usage is erased; `None` for conversations, whose usage is counted by owner.
fn metered_of(subject: &Subject) -> Option<(&TenantId, Option<OwnerDigest>)> {
    match subject {
        Subject::Conversations { .. } => None,
        Subject::User { tenant, user } => {
            let owner = OwnerDigest::of(&Owner::User(user.clone()));
            Some((tenant, Some(owner)))
        }
        Subject::Channel { tenant, channel } => {
            let owner = OwnerDigest::of(&Owner::Channel(channel.clone()));
            Some((tenant, Some(owner)))
        }
        Subject::Tenant(tenant) => Some((tenant, None)),
    }
}

/// Overwrites the metered calls of a subject in their stream. Returns their number.
pub(crate) async fn erase_metered(record: &Record, subject: &Subject) -> anyhow::Result<u64> {
    let Some((tenant, owner)) = metered_of(subject) else {
        return Ok(0);
    };
    Ok(record.erase_usage(tenant, owner.as_ref()).await?)
}

/// Removes the metered calls of a subject and their sums. Returns the number of calls and rows; `None`: the projector has not
/// read the calls within 30 s, and nothing was removed.
///
/// Calls are removed only after they are projected, so that the projector does not add their sums later.
pub(crate) async fn erase_usage(record: &Record, model: &ReadModel, subject: &Subject) -> anyhow::Result<Option<u64>> {
    let Some((tenant, owner)) = metered_of(subject) else {
        return Ok(Some(0));
    };
    let deadline = Instant::now() + PROJECTED_MAX;
    while let Some(last) = record.last_usage(tenant, owner.as_ref()).await? {
        if checkpoint(model).await? >= last {
            break;
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        tokio::time::sleep(POLL).await;
    }
    let calls = erase_metered(record, subject).await?;
    let rows = match &owner {
        Some(owner) => delete_owner_usage(model, tenant, owner).await?,
        None => delete_usage(model, tenant).await?,
    };
    Ok(Some(calls.saturating_add(rows)))
}
