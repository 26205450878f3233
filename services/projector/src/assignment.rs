//! Which tenants' rows this projector writes: those that the configuration assigns to its database.

use domain::{Partition, TenantFilter, TenantId};
use event_log::{Record, Unavailable};
use read_model::projections::conversations::lease::checkpoints;
use read_model::shards::assignment::{Assignment, AssignmentError, additions, any_with_rows, assign, check_listed};
use read_model::{ReadModel, ReadModelError};
use thiserror::Error;

use crate::ProjectorConfig;

/// Why a projector does not know its tenants.
#[derive(Debug, Error)]
pub(crate) enum TenantsError {
    /// The configuration contradicts the database or the record.
    #[error(transparent)]
    Assignment(#[from] AssignmentError),
    /// The record is unavailable.
    #[error(transparent)]
    Record(#[from] Unavailable),
}

impl From<ReadModelError> for TenantsError {
    fn from(error: ReadModelError) -> Self {
        Self::Assignment(error.into())
    }
}

impl TenantsError {
    /// Whether a retry can help.
    pub(crate) fn is_unavailable(&self) -> bool {
        match self {
            Self::Record(_) => true,
            Self::Assignment(error) => error.is_unavailable(),
        }
    }
}

/// Stores the assignments of the configuration in the database, after a check that no newly assigned tenant has commits: their rows are
/// in another database, or this one has passed them. Returns the tenants.
pub(crate) async fn tenants(
    record: &Record,
    config: &ProjectorConfig,
    model: &ReadModel,
) -> Result<TenantFilter, TenantsError> {
    let assignment = Assignment::of(&config.read_model, model.shard_name())?;
    let added = additions(model, &assignment).await?;
    let has_commits = if added.is_empty() {
        None
    } else if model.shard_name().is_none() {
        any_with_rows(model, &added).await?
    } else {
        let first = ReadModel::connect_lazy(&config.read_model)?;
        check_listed(&first, &added).await?;
        let has_passed = has_passed_commits(model).await?;
        if has_passed && assignment.is_new(&added) {
            return Err(AssignmentError::InUse(config.shard.clone()).into());
        }
        if has_passed { any_with_commits(record, added).await? } else { None }
    };
    match has_commits {
        Some(tenant) => Err(AssignmentError::HasCommits(tenant).into()),
        None => Ok(assign(model, &assignment).await?),
    }
}

/// One of these tenants with commits, which the projector of this database may have passed.
async fn any_with_commits(record: &Record, tenants: Vec<TenantId>) -> Result<Option<TenantId>, Unavailable> {
    for tenant in tenants {
        if has_commits(record, &tenant).await? {
            return Ok(Some(tenant));
        }
    }
    Ok(None)
}

/// Whether a projector of this database has read commits.
async fn has_passed_commits(model: &ReadModel) -> Result<bool, ReadModelError> {
    let checkpoints = checkpoints(model).await?;
    Ok(checkpoints.iter().any(|one| one.sequence.0 > 0))
}

async fn has_commits(record: &Record, tenant: &TenantId) -> Result<bool, Unavailable> {
    for partition in (0..record.partitions()).map(Partition) {
        if !record.conversations(partition, Some(tenant)).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
