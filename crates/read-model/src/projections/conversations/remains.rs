//! What the rows still hold of conversations that the record has erased: for operators, across tenants.

use domain::{ConversationKey, TenantId};
use sqlx::Row as _;
use sqlx::postgres::PgArguments;

use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::queries::bind;

/// How many of these conversations are not yet, in the rows, an erased conversation without events and nothing else.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn remains(
    model: &ReadModel,
    erased: &[&ConversationKey],
) -> Result<u64, ReadModelError> {
    let tenants: Vec<&str> = erased.iter().map(|key| key.tenant.as_str()).collect();
    let ids: Vec<&str> = erased.iter().map(|key| key.conversation.as_str()).collect();
    let arguments = || {
        bind(
            bind(PgArguments::default(), tenants.as_slice()),
            ids.as_slice(),
        )
    };
    let rows = model.fetch(include_str!("remains.sql"), arguments).await?;
    let count = rows
        .first()
        .map(|row| row.try_get::<i64, _>(0))
        .transpose()?;
    Ok(u64::try_from(count.unwrap_or_default()).unwrap_or_default())
}

/// Forgets what a tenant's models were paid for: the numbers that the erasure of its conversations leaves.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn forget_usage(model: &ReadModel, tenant: &TenantId) -> Result<(), ReadModelError> {
    let arguments = || bind(PgArguments::default(), tenant.as_str());
    model
        .fetch("DELETE FROM usage_day WHERE tenant_id = $1", arguments)
        .await?;
    Ok(())
}
