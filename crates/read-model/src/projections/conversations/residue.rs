//! Residue of erased conversations in rows, for operators, across tenants.

use domain::{ConversationKey, TenantId};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use crate::arguments::{arguments, bind_keys, execute, key_parts, unsigned};
use crate::error::ReadModelError;
use crate::live::parse_schema_name;
use crate::model::{Durability, ReadModel};

const SCHEMAS: &str = "SELECT name FROM hansard.schema WHERE projection = 'conversations'";

/// The search settings, the key and the empty blocks of a tenant.
const DELETE_SEARCH: [&str; 3] = [
    "DELETE FROM search_v1.agent WHERE tenant_id = $1",
    "DELETE FROM search_v1.tenant WHERE tenant_id = $1",
    "DELETE FROM search_v1.block WHERE tenant_id = $1
     AND NOT EXISTS (SELECT FROM search_v1.document WHERE document.block_id = block.block_id)",
];

/// The number of these conversations whose rows still contain more than a tombstone.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn residue(model: &ReadModel, erased: &[&ConversationKey]) -> Result<u64, ReadModelError> {
    let arguments = || bind_keys(erased.iter().copied().map(key_parts));
    let rows = model.fetch(include_str!("residue.sql"), arguments).await?;
    let count: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
    Ok(unsigned(count))
}

/// Deletes the usage of a tenant in every schema, which the erasure of its conversations keeps, and the key of its search terms:
/// without it, hashes that remain in pages of tables cannot be compared with words any more. Returns the number of deleted
/// rows of metered calls. Retained schemas are included, because a switch back would copy their usage.
///
/// # Errors
/// [`ReadModelError::Unavailable`]: nothing was changed.
pub async fn delete_usage(model: &ReadModel, tenant: &TenantId) -> Result<u64, ReadModelError> {
    let work = async |connection: &mut PgConnection| {
        // Prevents a concurrent drop of a schema and a switch, which copies usage.
        connection.execute("SELECT FROM hansard.projection FOR SHARE").await?;
        let schemas = connection.fetch_all(SCHEMAS).await?;
        for row in &schemas {
            let schema = parse_schema_name(row.try_get("name")?)?;
            for table in ["usage_day", "run_day"] {
                let sql = format!("DELETE FROM {schema}.{table} WHERE tenant_id = $1");
                execute(connection, AssertSqlSafe(sql), arguments![tenant.as_str()]).await?;
            }
        }
        for sql in DELETE_SEARCH {
            execute(connection, sql, arguments![tenant.as_str()]).await?;
        }
        let sql = "DELETE FROM hansard.usage_correction WHERE tenant_id = $1";
        execute(connection, sql, arguments![tenant.as_str()]).await?;
        let sql = "DELETE FROM hansard.model_usage WHERE tenant_id = $1";
        Ok(execute(connection, sql, arguments![tenant.as_str()]).await?)
    };
    model.transaction(Durability::Durable, work).await
}
