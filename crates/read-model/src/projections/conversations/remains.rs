//! What the rows still hold of conversations that the record has erased: for operators, across tenants.

use domain::{ConversationKey, TenantId};
use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use crate::error::ReadModelError;
use crate::live::name_of;
use crate::model::{Durability, ReadModel};
use crate::queries::bind;

const SCHEMAS: &str = "SELECT name FROM hansard.schema WHERE projection = 'conversations'";

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

/// Forgets what a tenant's models used and were paid for, in every schema: the numbers that the erasure of its conversations
/// leaves; how many rows of metered calls there were. A schema that was left may be gone back to, and hands its numbers on.
///
/// # Errors
/// [`ReadModelError::Unavailable`]: nothing has changed then.
pub async fn forget_usage(model: &ReadModel, tenant: &TenantId) -> Result<u64, ReadModelError> {
    let work = async |connection: &mut PgConnection| {
        // None is dropped, and no numbers move from one to another meanwhile.
        connection
            .execute("SELECT FROM hansard.projection FOR SHARE")
            .await?;
        let schemas = connection.fetch_all(SCHEMAS).await?;
        for row in &schemas {
            let schema = name_of(row.try_get("name")?)?;
            let forget = format!("DELETE FROM {schema}.usage_day WHERE tenant_id = $1");
            let forget = sqlx::query(AssertSqlSafe(forget)).bind(tenant.as_str());
            forget.execute(&mut *connection).await?;
        }
        let forget = sqlx::query("DELETE FROM hansard.model_usage WHERE tenant_id = $1");
        let gone = forget.bind(tenant.as_str()).execute(connection).await?;
        Ok::<_, ReadModelError>(gone.rows_affected())
    };
    model.transaction(Durability::Durable, work).await
}
